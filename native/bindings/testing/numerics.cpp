// Linear algebra, pairs and estimators on their own, so that tests can compare each with an independent computation.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "model/policy_state.hpp"
#include "numerics/beta.hpp"
#include "policies/local_bonus.hpp"

namespace duelist {

namespace {

i64 size_of(const Vector& x) { return x.extent(0); }

// The dimension of a square matrix, checked to be `dim`.
i64 dim_of(const Matrix& factor, i64 dim) {
    require(factor.shape(0) == factor.shape(1) && factor.extent(0) == dim, "The shapes do not match.");
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

FloatArray updated(const Matrix& factor, const Vector& z, double weight) {
    i64 dim = dim_of(factor, size_of(z));
    AlignedDoubles copy = numbers_of(factor), rest(dim);
    kernels->cholesky_update(copy.data(), dim, z.data(), weight, rest.data());
    return to_numpy(copy.data(), {dim, dim});
}

// One rank-one update per row of z.
FloatArray updated_by_all(const Matrix& factor, const Matrix& z, const Vector& weights) {
    i64 n = size_of(weights), dim = dim_of(factor, z.extent(1));
    require(z.extent(0) == n, "The shapes do not match.");
    AlignedDoubles copy = numbers_of(factor), rest(dim);
    for (i64 s = 0; s < n; s++)
        kernels->cholesky_update(copy.data(), dim, z.data() + s * dim, weights.data()[s], rest.data());
    return to_numpy(copy.data(), {dim, dim});
}

std::tuple<FloatArray, FloatArray> updated_both(const Matrix& factor, double weight, const Matrix& other,
                                                double other_weight, const Vector& z) {
    i64 dim = dim_of(factor, size_of(z));
    dim_of(other, dim);
    AlignedDoubles one = numbers_of(factor), two = numbers_of(other), rest(dim), other_rest(dim);
    kernels->cholesky_update_both(one.data(), weight, two.data(), other_weight, dim, z.data(), rest.data(),
                                  other_rest.data());
    return std::tuple(to_numpy(one.data(), {dim, dim}), to_numpy(two.data(), {dim, dim}));
}

FloatArray solved(const Matrix& factor, const Vector& b, bool lower) {
    i64 dim = dim_of(factor, size_of(b));
    AlignedDoubles x = numbers_of(b);
    (lower ? kernels->solve_lower : kernels->solve_upper)(factor.data(), dim, x.data());
    return to_numpy(x.data(), {dim});
}

FloatArray multiplied(const Matrix& factor, const Vector& x) {
    i64 dim = dim_of(factor, size_of(x));
    AlignedDoubles out(dim);
    kernels->multiply(factor.data(), dim, x.data(), out.data());
    return to_numpy(out.data(), {dim});
}

FloatArray columns_of(const AlignedDoubles& v, i64 dim, i64 n, i64 stride) {
    std::vector<double> columns;
    for (i64 k = 0; k < dim; k++) columns.insert(columns.end(), v.data() + k * stride, v.data() + k * stride + n);
    return to_numpy(columns.data(), {dim, n});
}

// Utilities and whitened columns (dim, n) of the chosen arms, or of all.
std::tuple<FloatArray, FloatArray> utilities_and_columns(const Matrix& arms, const Vector& theta, const Matrix& factor,
                                                         std::optional<Integers> chosen) {
    i64 dim = dim_of(factor, size_of(theta)), n = static_cast<i64>(chosen ? chosen->shape(0) : arms.shape(0));
    require(n > 0 && arms.extent(1) == dim, "The shapes do not match.");
    for (i64 k = 0; chosen && k < n; k++)
        require(chosen->data()[k] >= 0 && chosen->data()[k] < arms.extent(0), "An arm is invalid.");
    i64 stride = padded(n);
    AlignedDoubles u(stride), v(dim * stride);
    kernels->whiten(arms.data(), chosen ? chosen->data() : nullptr, n, dim, theta.data(), factor.data(), u.data(),
                    v.data(), stride);
    return std::tuple(to_numpy(u.data(), {n}), columns_of(v, dim, n, stride));
}

FloatArray whitened(const Matrix& factor, const Matrix& arms) {
    i64 n = arms.extent(0), dim = dim_of(factor, arms.extent(1)), stride = padded(n);
    require(n > 0, "There are no arms.");
    AlignedDoubles v(dim * stride);
    kernels->whiten(arms.data(), nullptr, n, dim, nullptr, factor.data(), nullptr, v.data(), stride);
    return columns_of(v, dim, n, stride);
}

// -- pairs ------------------------------------------------------------------------------

// Columns (dim, n), padded as kernels require.
struct Columns {
    i64 dim, n, stride;
    AlignedDoubles v;

    explicit Columns(const Matrix& given)
        : dim(given.extent(0)), n(given.extent(1)), stride(padded(n)), v(dim * stride) {
        require(n > 0, "There are no arms.");
        for (i64 k = 0; k < dim; k++) std::copy_n(given.data() + k * n, n, v.data() + k * stride);
    }
};

FloatArray squared_widths(const Matrix& given, i64 arm, i64 start) {
    Columns columns(given);
    require(arm >= 0 && arm < columns.n && start >= 0 && start <= columns.n, "An arm is invalid.");
    AlignedDoubles out(columns.stride);
    kernels->squared_widths(columns.v.data(), columns.stride, columns.dim, arm, start, columns.n, out.data());
    return to_numpy(out.data(), {columns.n - start});
}

std::vector<i64> best_pair_candidates(const Vector& u, const Matrix& given, double radius) {
    Columns columns(given);
    require(size_of(u) == columns.n, "The shapes do not match.");
    AlignedDoubles own = numbers_of(u), reach(columns.stride), line(columns.stride);
    std::vector<i64> kept(static_cast<std::size_t>(columns.n));
    kept.resize(static_cast<std::size_t>(kernels->best_pair_candidates(own.data(), columns.v.data(), columns.n,
                                                                       columns.stride, columns.dim, radius,
                                                                       reach.data(), line.data(), kept.data())));
    return kept;
}

// -- estimators -------------------------------------------------------------------------

// Rows of data as columns (dim, n), padded by rows without mass.
struct PaddedProblem {
    AlignedDoubles z, mass, wins;
    GlmProblem problem;

    PaddedProblem(const Matrix& rows, const Vector& masses, const Vector& won, double ridge, const std::string& link) {
        i64 dim = rows.extent(0), n = rows.extent(1), stride = (n + 15) / 16 * 16;
        require(dim > 0 && size_of(masses) == n && size_of(won) == n, "rows, mass and wins do not match.");
        z.fit(dim * stride);
        mass.fit(stride);
        wins.fit(stride);
        for (i64 k = 0; k < dim; k++) std::copy_n(rows.data() + k * n, n, z.data() + k * stride);
        std::copy_n(masses.data(), n, mass.data());
        std::copy_n(won.data(), n, wins.data());
        problem = {z.data(), stride, dim, mass.data(), wins.data(), stride, {ridge}, link_from_name(link)};
    }
    void fits(const Vector& theta) const { require(size_of(theta) == problem.dim, "theta does not match the rows."); }
};

double objective(Matrix z, Vector mass, Vector wins, double ridge, const std::string& link, Vector theta) {
    PaddedProblem given(z, mass, wins, ridge, link);
    given.fits(theta);
    AlignedDoubles margins(given.problem.n);
    return given.problem.objective(theta.data(), margins.data());
}

// The curvature at theta. Only its upper triangle is computed; the rest keeps the value `filled`.
FloatArray curvature(Matrix z, Vector mass, Vector wins, double ridge, const std::string& link, Vector theta,
                     double filled) {
    PaddedProblem given(z, mass, wins, ridge, link);
    given.fits(theta);
    const GlmProblem& p = given.problem;
    AlignedDoubles margins(p.n), residual(p.n), slopes(p.n), weighted(p.n), out(p.dim * p.dim);
    for (i64 k = 0; k < p.dim * p.dim; k++) out[k] = filled;
    kernels->margins(p.z, p.stride, p.dim, theta.data(), p.n, margins.data());
    p.residuals(margins.data(), residual.data(), slopes.data());
    kernels->fill_curvature(p.z, p.stride, p.dim, slopes.data(), p.n, p.ridge, weighted.data(), out.data());
    return to_numpy(out.data(), {p.dim, p.dim});
}

// W mu - O and W mu' of rows with these margins. For the logistic link also from its kernel, with W mu'' / 2.
std::tuple<FloatArray, FloatArray, FloatArray, FloatArray, FloatArray> residuals_and_slopes(Vector margins, Vector mass,
                                                                                            Vector wins,
                                                                                            const std::string& link) {
    i64 n = size_of(margins), workspace = (n + 15) / 16 * 16;
    require(size_of(mass) == n && size_of(wins) == n, "rows, mass and wins do not match.");
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
    return std::tuple(to_numpy(residual.data(), {n}), to_numpy(slopes.data(), {n}), to_numpy(other.data(), {n}),
                      to_numpy(alike.data(), {n}), to_numpy(second_order.data(), {n}));
}

bool safe(const std::string& link, Vector margins, Vector moves) {
    require(margins.shape(0) == moves.shape(0), "The shapes do not match.");
    return full_step_is_safe(link_from_name(link), margins.data(), moves.data(), size_of(margins));
}

std::tuple<FloatArray, FloatArray, int> refined(Matrix z, Vector mass, Vector wins, double ridge,
                                                const std::string& link, Vector theta, Matrix factor) {
    PaddedProblem given(z, mass, wins, ridge, link);
    given.fits(theta);
    i64 dim = dim_of(factor, size_of(theta));
    AlignedDoubles found = numbers_of(theta), kept = numbers_of(factor);
    SolverWorkspace workspace;
    SolverStatus status = refine(given.problem, found.data(), kept.data(), workspace);
    return std::tuple(to_numpy(found.data(), {dim}), to_numpy(kept.data(), {dim, dim}), static_cast<int>(status));
}

// A step of the one-pass estimator.
std::tuple<FloatArray, FloatArray, double> taken_step(Vector theta, Matrix factor, Vector z, double mass, double wins,
                                                      const std::string& link, double bound) {
    i64 dim = dim_of(factor, size_of(theta));
    require(size_of(z) == dim, "The shapes do not match.");
    AlignedDoubles found = numbers_of(theta), kept = numbers_of(factor);
    SolverWorkspace workspace;
    workspace.fit(dim, 0);
    double margin = one_pass_step(found.data(), kept.data(), dim, z.data(), mass, wins, link_from_name(link),
                                  UNTIL_CONVERGED, workspace);
    kernels->cholesky_update(kept.data(), dim, z.data(), mass * slope(link_from_name(link), margin),
                             workspace.step.data());
    margin = project_into_ball(found.data(), kept.data(), dim, z.data(), bound, margin);
    return std::tuple(to_numpy(found.data(), {dim}), to_numpy(kept.data(), {dim, dim}), margin);
}

FloatArray projected(Vector theta, Matrix factor, double bound) {
    i64 dim = dim_of(factor, size_of(theta));
    AlignedDoubles found = numbers_of(theta);
    project(found.data(), factor.data(), dim, bound);
    return to_numpy(found.data(), {dim});
}

// Learn rows one by one. The exact estimator solves at the end, or after every row.
std::tuple<FloatArray, FloatArray, i64, int, double> learn_rows(const Matrix& differences, const Vector& mass,
                                                                const Vector& outcomes, double ridge,
                                                                const std::string& link, bool online, double bound,
                                                                bool solve_every_row) {
    i64 n = differences.extent(0), dim = differences.extent(1);
    require(mass.extent(0) == n && outcomes.extent(0) == n, "The rows do not match.");
    PolicyState state(dim, link_from_name(link), online);
    state.bound = bound;
    state.add_layer(ridge, ridge, 0.0);
    SolverWorkspace workspace;
    for (i64 s = 0; s < n; s++) {
        state.rounds++;
        state.learn(0, {differences.data() + s * dim, outcomes.data()[s]}, mass.data()[s], 1.0, workspace);
        if (solve_every_row) state.theta(0, workspace);
    }
    const double* theta = state.theta(0, workspace);
    const Layer& layer = state.layer(0);
    return std::tuple(to_numpy(theta, {dim}), to_numpy(layer.curvature.data(), {dim, dim}), layer.rows->count(),
                      static_cast<int>(layer.fit_status), layer.residual);
}

}  // namespace

void bind_numerics_for_tests(nb::module_& m) {
    m.def(
        "dot",
        [](const Vector& a, const Vector& b) {
            require(size_of(b) >= size_of(a), "b is too short.");
            return kernels->dot(a.data(), b.data(), size_of(a));
        },
        "a"_a, "b"_a);
    m.def(
        "draw_betas",
        [](const Words& words, double first, double second, i64 count) {
            require(first >= 1.0 && second >= 1.0 && first < 1e15 && second < 1e15,
                    "Shapes must be between 1 and 1e15.");
            require(count >= 0 && count <= 1000000, "count must be between 0 and 1,000,000.");
            Sfc64 random;
            std::copy(words.data(), words.data() + 4, random.words.begin());
            std::vector<double> drawn;
            for (i64 k = 0; k < count; k++) drawn.push_back(draw_beta(random, first, second));
            return to_numpy(drawn);
        },
        "words"_a, "first"_a, "second"_a, "count"_a);
    m.def("cholesky_update", &updated, "factor"_a, "z"_a, "weight"_a);
    m.def("cholesky_updates", &updated_by_all, "factor"_a, "z"_a, "weights"_a);
    m.def("cholesky_update_both", &updated_both, "factor"_a, "weight"_a, "other"_a, "other_weight"_a, "z"_a);
    m.def("solve_lower", [](const Matrix& f, const Vector& b) { return solved(f, b, true); }, "factor"_a, "b"_a);
    m.def("solve_upper", [](const Matrix& f, const Vector& b) { return solved(f, b, false); }, "factor"_a, "b"_a);
    m.def("multiply", &multiplied, "factor"_a, "x"_a);
    m.def("whiten", &whitened, "factor"_a, "arms"_a);
    m.def("utilities_and_columns", &utilities_and_columns, "arms"_a, "theta"_a, "factor"_a, "chosen"_a.none());

    m.def(
        "argmax", [](const Vector& x) { return size_of(x) ? kernels->argmax(x.data(), size_of(x)) : -1; }, "values"_a);
    m.def("squared_widths", &squared_widths, "v"_a, "arm"_a, "start"_a);
    m.def("best_pair_candidates", &best_pair_candidates, "u"_a, "v"_a, "radius"_a);
    m.def(
        "local_bonus_radius",
        [](double square, double gap, const std::string& link, double stretch, double horizon) {
            return LocalBonus{link_from_name(link), stretch, horizon}.radius(square, gap);
        },
        "square"_a, "gap"_a, "link"_a, "stretch"_a, "horizon"_a);

    m.attr("MAX_DIRECT_DIM") = MAX_DIRECT_DIM;
    m.attr("SINGLE_STEP") = SINGLE_STEP;
    m.attr("UNTIL_CONVERGED") = UNTIL_CONVERGED;
    m.def("objective", &objective, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a);
    m.def("curvature", &curvature, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a, "filled"_a = 0.0);
    m.def("residuals_and_slopes", &residuals_and_slopes, "margins"_a, "mass"_a, "wins"_a, "link"_a);
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
        [](const std::string& link, double v, double q, double mass, double wins, int max_iterations) {
            return implicit_step(link_from_name(link), v, q, mass, wins, max_iterations);
        },
        "link"_a, "v"_a, "q"_a, "mass"_a, "wins"_a, "max_iterations"_a);
    m.def("one_pass_step", &taken_step, "theta"_a, "factor"_a, "z"_a, "mass"_a, "wins"_a, "link"_a, "bound"_a);
    m.def("project", &projected, "theta"_a, "factor"_a, "bound"_a);
    m.def("refine", &refined, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a, "factor"_a);
    m.def("learn_rows", &learn_rows, "differences"_a, "mass"_a, "outcomes"_a, "ridge"_a, "link"_a, "online"_a = false,
          "bound"_a = INF, "solve_every_row"_a = true);
}

}  // namespace duelist
