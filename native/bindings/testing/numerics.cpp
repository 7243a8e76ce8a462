// Linear algebra, pairs and estimators on their own, so that tests can hold each to an independent computation.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "numerics/beta.hpp"
#include "policies/local_bonus.hpp"

namespace duelist {

namespace {

using Array = nb::ndarray<nb::numpy, double>;

void check(bool good, const char* what) {
    if (!good) throw std::invalid_argument(what);
}

i64 size_of(const Vector& x) { return static_cast<i64>(x.shape(0)); }

// A square matrix that vectors of `dim` numbers fit.
i64 dim_of(const Matrix& factor, i64 dim) {
    check(factor.shape(0) == factor.shape(1) && static_cast<i64>(factor.shape(0)) == dim, "the sizes do not fit");
    return dim;
}

AlignedDoubles numbers_of(const Vector& x) {
    AlignedDoubles out(size_of(x));
    std::copy_n(x.data(), size_of(x), out.data());
    return out;
}

AlignedDoubles numbers_of(const Matrix& x) {
    AlignedDoubles out(static_cast<i64>(x.size()));
    std::copy_n(x.data(), x.size(), out.data());
    return out;
}

// -- linear algebra ---------------------------------------------------------------------

Array updated(const Matrix& factor, const Vector& z, double weight) {
    i64 dim = dim_of(factor, size_of(z));
    AlignedDoubles copy = numbers_of(factor), rest(dim);
    kernels->cholesky_update(copy.data(), dim, z.data(), weight, rest.data());
    return copied(copy.data(), {dim, dim});
}

// One update for each row of z.
Array updated_by_all(const Matrix& factor, const Matrix& z, const Vector& weights) {
    i64 n = size_of(weights), dim = dim_of(factor, static_cast<i64>(z.shape(1)));
    check(static_cast<i64>(z.shape(0)) == n, "the sizes do not fit");
    AlignedDoubles copy = numbers_of(factor), rest(dim);
    for (i64 s = 0; s < n; s++)
        kernels->cholesky_update(copy.data(), dim, z.data() + s * dim, weights.data()[s], rest.data());
    return copied(copy.data(), {dim, dim});
}

nb::tuple updated_both(const Matrix& factor, double weight, const Matrix& other, double other_weight, const Vector& z) {
    i64 dim = dim_of(factor, size_of(z));
    dim_of(other, dim);
    AlignedDoubles one = numbers_of(factor), two = numbers_of(other), rest(dim), other_rest(dim);
    kernels->cholesky_update_both(one.data(), weight, two.data(), other_weight, dim, z.data(), rest.data(),
                                  other_rest.data());
    return nb::make_tuple(copied(one.data(), {dim, dim}), copied(two.data(), {dim, dim}));
}

Array solved(const Matrix& factor, const Vector& b, bool lower) {
    i64 dim = dim_of(factor, size_of(b));
    AlignedDoubles x = numbers_of(b);
    (lower ? kernels->solve_lower : kernels->solve_upper)(factor.data(), dim, x.data());
    return copied(x.data(), {dim});
}

Array multiplied(const Matrix& factor, const Vector& x) {
    i64 dim = dim_of(factor, size_of(x));
    AlignedDoubles out(dim);
    kernels->multiply(factor.data(), dim, x.data(), out.data());
    return copied(out.data(), {dim});
}

Array columns_of(const AlignedDoubles& v, i64 dim, i64 n, i64 stride) {
    std::vector<double> columns;
    for (i64 k = 0; k < dim; k++) columns.insert(columns.end(), v.data() + k * stride, v.data() + k * stride + n);
    return copied(columns.data(), {dim, n});
}

// Utilities and whitened columns (dim, n) of the chosen arms, or of all.
nb::tuple looked(const Matrix& arms, const Vector& theta, const Matrix& factor, std::optional<Whole> chosen) {
    i64 dim = dim_of(factor, size_of(theta)), n = static_cast<i64>(chosen ? chosen->shape(0) : arms.shape(0));
    check(n > 0 && static_cast<i64>(arms.shape(1)) == dim, "the sizes do not fit");
    for (i64 k = 0; chosen && k < n; k++)
        check(chosen->data()[k] >= 0 && chosen->data()[k] < static_cast<i64>(arms.shape(0)), "there is no such arm");
    i64 stride = padded(n);
    AlignedDoubles u(stride), v(dim * stride);
    kernels->whiten(arms.data(), chosen ? chosen->data() : nullptr, n, dim, theta.data(), factor.data(), u.data(),
                    v.data(), stride);
    return nb::make_tuple(copied(u.data(), {n}), columns_of(v, dim, n, stride));
}

Array whitened(const Matrix& factor, const Matrix& arms) {
    i64 n = static_cast<i64>(arms.shape(0)), dim = dim_of(factor, static_cast<i64>(arms.shape(1))), stride = padded(n);
    check(n > 0, "there are no arms");
    AlignedDoubles v(dim * stride);
    kernels->whiten(arms.data(), nullptr, n, dim, nullptr, factor.data(), nullptr, v.data(), stride);
    return columns_of(v, dim, n, stride);
}

// -- pairs ------------------------------------------------------------------------------

// Columns (dim, n) with the room past their end that kernels read and write.
struct Columns {
    i64 dim, n, stride;
    AlignedDoubles v;

    explicit Columns(const Matrix& given)
        : dim(static_cast<i64>(given.shape(0))),
          n(static_cast<i64>(given.shape(1))),
          stride(padded(n)),
          v(dim * stride) {
        check(n > 0, "there are no arms");
        for (i64 k = 0; k < dim; k++) std::copy_n(given.data() + k * n, n, v.data() + k * stride);
    }
};

Array squared_widths(const Matrix& given, i64 arm, i64 start) {
    Columns columns(given);
    check(arm >= 0 && arm < columns.n && start >= 0 && start <= columns.n, "there is no such arm");
    AlignedDoubles out(columns.stride);
    kernels->squared_widths(columns.v.data(), columns.stride, columns.dim, arm, start, columns.n, out.data());
    return copied(out.data(), {columns.n - start});
}

std::vector<i64> best_pair_candidates(const Vector& u, const Matrix& given, double radius) {
    Columns columns(given);
    check(size_of(u) == columns.n, "the sizes do not fit");
    AlignedDoubles own = numbers_of(u), reach(columns.stride), line(columns.stride);
    std::vector<i64> kept(static_cast<std::size_t>(columns.n));
    kept.resize(static_cast<std::size_t>(kernels->best_pair_candidates(own.data(), columns.v.data(), columns.n,
                                                                       columns.stride, columns.dim, radius,
                                                                       reach.data(), line.data(), kept.data())));
    return kept;
}

// -- estimators -------------------------------------------------------------------------

// Rows as columns (dim, n), padded by rows without mass.
struct PaddedProblem {
    AlignedDoubles z, mass, wins;
    GlmProblem problem;

    PaddedProblem(const Matrix& rows, const Vector& masses, const Vector& won, double ridge, const std::string& link) {
        i64 dim = static_cast<i64>(rows.shape(0)), n = static_cast<i64>(rows.shape(1)), stride = (n + 15) / 16 * 16;
        check(dim > 0 && size_of(masses) == n && size_of(won) == n, "rows, mass and wins do not fit");
        z.fit(dim * stride);
        mass.fit(stride);
        wins.fit(stride);
        for (i64 k = 0; k < dim; k++) std::copy_n(rows.data() + k * n, n, z.data() + k * stride);
        std::copy_n(masses.data(), n, mass.data());
        std::copy_n(won.data(), n, wins.data());
        problem = {z.data(), stride, dim, mass.data(), wins.data(), stride, {ridge}, link_from_name(link)};
    }
    void fits(const Vector& theta) const { check(size_of(theta) == problem.dim, "theta does not fit the rows"); }
};

double objective(Matrix z, Vector mass, Vector wins, double ridge, const std::string& link, Vector theta) {
    PaddedProblem given(z, mass, wins, ridge, link);
    given.fits(theta);
    AlignedDoubles margins(given.problem.n);
    return given.problem.objective(theta.data(), margins.data());
}

// The curvature at theta; only its upper triangle is written, the rest keeps what it was filled with.
Array curvature(Matrix z, Vector mass, Vector wins, double ridge, const std::string& link, Vector theta,
                double filled) {
    PaddedProblem given(z, mass, wins, ridge, link);
    given.fits(theta);
    const GlmProblem& p = given.problem;
    AlignedDoubles margins(p.n), residual(p.n), slopes(p.n), weighted(p.n), out(p.dim * p.dim);
    for (i64 k = 0; k < p.dim * p.dim; k++) out[k] = filled;
    kernels->margins(p.z, p.stride, p.dim, theta.data(), p.n, margins.data());
    p.residuals(margins.data(), residual.data(), slopes.data());
    kernels->fill_curvature(p.z, p.stride, p.dim, slopes.data(), p.n, p.ridge, weighted.data(), out.data());
    return copied(out.data(), {p.dim, p.dim});
}

// W mu - O and W mu' of rows with these margins; for the logistic link also by its kernel, with W mu'' / 2.
nb::tuple rows_at(Vector margins, Vector mass, Vector wins, const std::string& link) {
    i64 n = size_of(margins), workspace = (n + 15) / 16 * 16;
    check(size_of(mass) == n && size_of(wins) == n, "rows, mass and wins do not fit");
    AlignedDoubles v(workspace), m(workspace), w(workspace), residual(workspace), slopes(workspace), other(workspace),
        alike(workspace), second_order(workspace);
    std::copy_n(margins.data(), n, v.data());
    std::copy_n(mass.data(), n, m.data());
    std::copy_n(wins.data(), n, w.data());
    GlmProblem p{nullptr, workspace, 0, m.data(), w.data(), workspace, {1.0}, link_from_name(link)};
    p.residuals(v.data(), residual.data(), slopes.data());
    if (p.link == Link::logistic)
        kernels->logistic_model(m.data(), w.data(), v.data(), workspace, other.data(), alike.data(),
                                second_order.data());
    return nb::make_tuple(copied(residual.data(), {n}), copied(slopes.data(), {n}), copied(other.data(), {n}),
                          copied(alike.data(), {n}), copied(second_order.data(), {n}));
}

bool safe(const std::string& link, Vector margins, Vector moves) {
    check(margins.shape(0) == moves.shape(0), "the sizes do not fit");
    return full_step_is_safe(link_from_name(link), margins.data(), moves.data(), size_of(margins));
}

nb::tuple refined(Matrix z, Vector mass, Vector wins, double ridge, const std::string& link, Vector theta,
                  Matrix factor) {
    PaddedProblem given(z, mass, wins, ridge, link);
    given.fits(theta);
    i64 dim = dim_of(factor, size_of(theta));
    AlignedDoubles found = numbers_of(theta), kept = numbers_of(factor);
    SolverWorkspace workspace;
    SolverStatus status = refine(given.problem, found.data(), kept.data(), workspace);
    return nb::make_tuple(copied(found.data(), {dim}), copied(kept.data(), {dim, dim}), static_cast<int>(status));
}

// One outcome into an estimate and its curvature, as the one-pass estimator takes it.
nb::tuple stepped(Vector theta, Matrix factor, Vector z, double mass, double wins, const std::string& link,
                  double bound) {
    i64 dim = dim_of(factor, size_of(theta));
    check(size_of(z) == dim, "the sizes do not fit");
    AlignedDoubles found = numbers_of(theta), kept = numbers_of(factor);
    SolverWorkspace workspace;
    workspace.fit(dim, 0);
    double margin = one_pass_step(found.data(), kept.data(), dim, z.data(), mass, wins, link_from_name(link),
                                  UNTIL_CONVERGED, workspace);
    kernels->cholesky_update(kept.data(), dim, z.data(), mass * slope(link_from_name(link), margin),
                             workspace.step.data());
    margin = project_into_ball(found.data(), kept.data(), dim, z.data(), bound, margin);
    return nb::make_tuple(copied(found.data(), {dim}), copied(kept.data(), {dim, dim}), margin);
}

Array projected(Vector theta, Matrix factor, double bound) {
    i64 dim = dim_of(factor, size_of(theta));
    AlignedDoubles found = numbers_of(theta);
    project(found.data(), factor.data(), dim, bound);
    return copied(found.data(), {dim});
}

// The exact estimate of rows that are taken in one by one, and its curvature; solved at the end, or after every row.
nb::tuple tracked(const Matrix& differences, const Vector& mass, const Vector& outcomes, double ridge,
                  const std::string& link, bool online, double bound, bool every) {
    i64 n = static_cast<i64>(differences.shape(0)), dim = static_cast<i64>(differences.shape(1));
    if (static_cast<i64>(mass.shape(0)) != n || static_cast<i64>(outcomes.shape(0)) != n)
        throw std::invalid_argument("rows do not fit");
    PolicyState state(dim, link_from_name(link), online);
    state.bound = bound;
    state.add_layer(ridge, ridge, 0.0);
    SolverWorkspace workspace;
    for (i64 s = 0; s < n; s++) {
        state.rounds++;
        state.learn(0, {differences.data() + s * dim, outcomes.data()[s]}, mass.data()[s], 1.0, workspace);
        if (every) state.theta(0, workspace);
    }
    const double* theta = state.theta(0, workspace);
    const Layer& layer = state.layer(0);
    return nb::make_tuple(copied(theta, {dim}), copied(layer.curvature.data(), {dim, dim}), layer.rows->count(),
                          static_cast<int>(layer.fit_status), layer.residual);
}

}  // namespace

void bind_numeric_parts(nb::module_& m) {
    m.def(
        "dot",
        [](const Vector& a, const Vector& b) {
            check(size_of(b) >= size_of(a), "b is too short");
            return kernels->dot(a.data(), b.data(), size_of(a));
        },
        "a"_a, "b"_a);
    m.def(
        "betas",
        [](const Words& words, double first, double second, i64 count) {
            check(first >= 1.0 && second >= 1.0 && first < 1e15 && second < 1e15, "shapes are numbers from 1 on");
            check(count >= 0 && count <= 1000000, "so many numbers are not drawn");
            Sfc64 random;
            std::copy(words.data(), words.data() + 4, random.words.begin());
            std::vector<double> drawn;
            for (i64 k = 0; k < count; k++) drawn.push_back(draw_beta(random, first, second));
            return copied(drawn);
        },
        "words"_a, "first"_a, "second"_a, "count"_a);
    m.def("cholesky_update", &updated, "factor"_a, "z"_a, "weight"_a);
    m.def("cholesky_updates", &updated_by_all, "factor"_a, "z"_a, "weights"_a);
    m.def("cholesky_update_both", &updated_both, "factor"_a, "weight"_a, "other"_a, "other_weight"_a, "z"_a);
    m.def("solve_lower", [](const Matrix& f, const Vector& b) { return solved(f, b, true); }, "factor"_a, "b"_a);
    m.def("solve_upper", [](const Matrix& f, const Vector& b) { return solved(f, b, false); }, "factor"_a, "b"_a);
    m.def("multiply", &multiplied, "factor"_a, "x"_a);
    m.def("whiten", &whitened, "factor"_a, "arms"_a);
    m.def("look", &looked, "arms"_a, "theta"_a, "factor"_a, "chosen"_a.none());

    m.def(
        "argmax", [](const Vector& x) { return size_of(x) ? kernels->argmax(x.data(), size_of(x)) : -1; }, "values"_a);
    m.def("squared_widths", &squared_widths, "v"_a, "arm"_a, "start"_a);
    m.def("promising", &best_pair_candidates, "u"_a, "v"_a, "radius"_a);
    m.def(
        "local_radius",
        [](double square, double gap, const std::string& link, double stretch, double horizon) {
            return LocalBonus{link_from_name(link), stretch, horizon}.radius(square, gap);
        },
        "square"_a, "gap"_a, "link"_a, "stretch"_a, "horizon"_a);

    m.attr("DIRECT") = MAX_DIRECT_DIM;
    m.attr("GUESS") = SINGLE_STEP;
    m.attr("TO_ROUNDING") = UNTIL_CONVERGED;
    m.def("objective", &objective, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a);
    m.def("curvature", &curvature, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a, "filled"_a = 0.0);
    m.def("rows_at", &rows_at, "margins"_a, "mass"_a, "wins"_a, "link"_a);
    m.def("full_step_is_safe", &safe, "link"_a, "margins"_a, "moves"_a);
    m.def(
        "smoothness",
        [](Matrix z, Vector mass, double ridge, const std::string& link) {
            return smoothness(PaddedProblem(z, mass, mass, ridge, link).problem);
        },
        "z"_a, "mass"_a, "ridge"_a, "link"_a);
    m.def(
        "residual_sum",
        [](Matrix z, Vector mass, Vector wins, const std::string& link, Vector theta) {
            PaddedProblem given(z, mass, wins, 1.0, link);
            given.fits(theta);
            AlignedDoubles margins(given.problem.n);
            return residual_sum(given.problem, theta.data(), margins.data());
        },
        "z"_a, "mass"_a, "wins"_a, "link"_a, "theta"_a);
    m.def(
        "implicit_step",
        [](const std::string& link, double v, double q, double mass, double wins, int most) {
            return implicit_step(link_from_name(link), v, q, mass, wins, most);
        },
        "link"_a, "v"_a, "q"_a, "mass"_a, "wins"_a, "most"_a);
    m.def("step_with", &stepped, "theta"_a, "factor"_a, "z"_a, "mass"_a, "wins"_a, "link"_a, "bound"_a);
    m.def("project", &projected, "theta"_a, "factor"_a, "bound"_a);
    m.def("refine", &refined, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a, "factor"_a);
    m.def("tracked", &tracked, "differences"_a, "mass"_a, "outcomes"_a, "ridge"_a, "link"_a, "online"_a = false,
          "bound"_a = INF, "every"_a = true);
}

}  // namespace duelist
