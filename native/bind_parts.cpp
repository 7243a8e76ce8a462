// The parts of the engine on their own, so that tests can hold each to an independent computation.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "local_pairs.hpp"
#include "radius.hpp"
#include "search.hpp"

namespace duelist {

namespace {

using Found = std::tuple<i64, i64, double>;
using FoundAndExamined = std::tuple<i64, i64, double, i64>;

// Utilities and columns (dim, n) as a search wants them: padded, and copied so that nothing outside is written.
struct Owned {
    Scratch scratch;
    View view;
    PairSet out;
    Limits limits;

    Owned(const Vector& u, const Matrix& v, bool distinct = false, const Pairs* exclude = nullptr) {
        i64 dim = static_cast<i64>(v.shape(0)), n = static_cast<i64>(v.shape(1)), stride = padded(n);
        if (n == 0 || (u.shape(0) != v.shape(1) && u.shape(0) != 0)) throw std::invalid_argument("u and v do not fit");
        scratch.fit(n, dim);
        if (u.shape(0)) std::copy_n(u.data(), n, scratch.u.data());
        for (i64 k = 0; k < dim; k++) std::copy_n(v.data() + k * n, n, scratch.v.data() + k * stride);
        view = {scratch.u.data(), scratch.v.data(), n, stride, dim};
        if (exclude) out = pair_set(*exclude, n);
        limits = {distinct, out.size() ? &out : nullptr, nullptr};
    }
};

Found told(const FoundPair& pair) { return {pair.first, pair.second, pair.value}; }
FoundAndExamined told(const Searched& s) { return {s.first, s.second, s.value, s.examined}; }

Random random_of(const Words& words) {
    Random random;
    std::copy_n(words.data(), 4, random.words.begin());
    return random;
}

nb::ndarray<nb::numpy, double> updated(const Matrix& factor, const Vector& z, double weight) {
    i64 dim = static_cast<i64>(factor.shape(0));
    if (factor.shape(1) != factor.shape(0) || static_cast<i64>(z.shape(0)) != dim)
        throw std::invalid_argument("factor and z do not fit");
    Numbers copy(dim * dim), rest(dim);
    std::copy_n(factor.data(), dim * dim, copy.data());
    kernels->cholesky_update(copy.data(), dim, z.data(), weight, rest.data());
    return copied(copy.data(), {dim, dim});
}

nb::ndarray<nb::numpy, double> solved(const Matrix& factor, const Vector& b, bool lower) {
    i64 dim = static_cast<i64>(factor.shape(0));
    if (factor.shape(1) != factor.shape(0) || static_cast<i64>(b.shape(0)) != dim)
        throw std::invalid_argument("factor and b do not fit");
    Numbers x(dim);
    std::copy_n(b.data(), dim, x.data());
    (lower ? kernels->solve_lower : kernels->solve_upper)(factor.data(), dim, x.data());
    return copied(x.data(), {dim});
}

nb::ndarray<nb::numpy, double> whitened(const Matrix& factor, const Matrix& arms) {
    i64 n = static_cast<i64>(arms.shape(0)), dim = static_cast<i64>(arms.shape(1)), stride = padded(n);
    if (n == 0 || static_cast<i64>(factor.shape(0)) != dim || factor.shape(1) != factor.shape(0))
        throw std::invalid_argument("factor and arms do not fit");
    Numbers v(dim * stride);
    kernels->look(arms.data(), nullptr, n, dim, nullptr, factor.data(), nullptr, v.data(), stride);
    std::vector<double> columns;
    for (i64 k = 0; k < dim; k++) columns.insert(columns.end(), v.data() + k * stride, v.data() + k * stride + n);
    return copied(columns.data(), {dim, n});
}

template <class Function>
auto elementwise(Function function) {
    return [function](const Vector& x) {
        std::vector<double> out(x.shape(0));
        for (std::size_t k = 0; k < out.size(); k++) out[k] = function(x.data()[k]);
        return copied(out);
    };
}

// n draws of a kind, and the generator after them.
nb::tuple drawn(const Words& words, const std::string& kind, i64 n, i64 most) {
    Random random = random_of(words);
    std::vector<double> out;
    for (i64 k = 0; k < n; k++) {
        if (kind == "uniform")
            out.push_back(random.uniform());
        else if (kind == "gumbel")
            out.push_back(random.gumbel());
        else if (kind == "normal")
            out.push_back(random.normal());
        else
            out.push_back(static_cast<double>(random.below(most)));
    }
    return nb::make_tuple(copied(out), copied(random.words.data(), {4}));
}

// The exact estimate of rows that are taken in one by one, and its curvature; solved at the end, or after every row.
nb::tuple tracked(const Matrix& differences, const Vector& mass, const Vector& outcomes, double ridge,
                  const std::string& link, bool online, double bound, bool every) {
    i64 n = static_cast<i64>(differences.shape(0)), dim = static_cast<i64>(differences.shape(1));
    if (static_cast<i64>(mass.shape(0)) != n || static_cast<i64>(outcomes.shape(0)) != n)
        throw std::invalid_argument("rows do not fit");
    State state(dim, link_named(link), online);
    state.bound = bound;
    state.add_layer(ridge, ridge, 0.0);
    SolverRoom room;
    for (i64 s = 0; s < n; s++) {
        state.rounds++;
        state.learn(0, {differences.data() + s * dim, outcomes.data()[s]}, mass.data()[s], 1.0, room);
        if (every) state.theta(0, room);
    }
    const double* theta = state.theta(0, room);
    const Layer& layer = state.layer(0);
    return nb::make_tuple(copied(theta, {dim}), copied(layer.curvature.data(), {dim, dim}), layer.rows->count(),
                          static_cast<int>(layer.solved), layer.residual);
}

}  // namespace

void bind_parts(nb::module_& m) {
    m.def("vectors", [] { return kernels->name; });
    m.def("runnable_vectors", [] {
        i64 count;
        const Kernels* const* runnable = runnable_kernels(&count);
        std::vector<std::string> names;
        for (i64 k = 0; k < count; k++) names.push_back(runnable[k]->name);
        return names;
    });
    m.def(
        "use_vectors",
        [](const std::string& name) {
            i64 count;
            const Kernels* const* runnable = runnable_kernels(&count);
            for (i64 k = 0; k < count; k++)
                if (name == runnable[k]->name) return void(kernels = runnable[k]);
            throw std::invalid_argument("this machine cannot run the vectors '" + name + "'");
        },
        "name"_a);

    m.def("exp_of_minus_abs", elementwise([](double x) { return exp_of_minus_abs(x); }));
    m.def("log", elementwise([](double x) { return log(x); }));
    m.def("log1p", elementwise([](double x) { return log1p(x); }));
    m.def("erfc", elementwise([](double x) { return erfc(x); }));
    m.def("cos_of_turn", elementwise([](double x) { return cos_of_turn(x); }));
    m.def("drawn", &drawn, "words"_a, "kind"_a, "n"_a, "most"_a = 1);

    m.def(
        "dot",
        [](const Vector& a, const Vector& b) {
            if (a.shape(0) != b.shape(0)) throw std::invalid_argument("a and b do not fit");
            return kernels->dot(a.data(), b.data(), static_cast<i64>(a.shape(0)));
        },
        "a"_a, "b"_a);
    m.def("cholesky_update", &updated, "factor"_a, "z"_a, "weight"_a);
    m.def("solve_lower", [](const Matrix& f, const Vector& b) { return solved(f, b, true); }, "factor"_a, "b"_a);
    m.def("solve_upper", [](const Matrix& f, const Vector& b) { return solved(f, b, false); }, "factor"_a, "b"_a);
    m.def("whiten", &whitened, "factor"_a, "arms"_a);
    m.def("tracked", &tracked, "differences"_a, "mass"_a, "outcomes"_a, "ridge"_a, "link"_a, "online"_a = false,
          "bound"_a = INF, "every"_a = true);

    m.def(
        "best_pair",
        [](Vector u, Matrix v, double radius, bool distinct, Pairs exclude) {
            Owned given(u, v, distinct, &exclude);
            return told(best_pair(given.view, radius, given.limits, given.scratch));
        },
        "u"_a, "v"_a, "radius"_a, "distinct"_a, "exclude"_a);
    m.def(
        "widest_pair",
        [](Matrix v, bool distinct, Pairs exclude) {
            Owned given({}, v, distinct, &exclude);
            return told(widest_pair(given.view, given.limits, given.scratch));
        },
        "v"_a, "distinct"_a, "exclude"_a);
    m.def(
        "best_wide_pair",
        [](Vector u, Matrix v, double threshold, bool distinct, Pairs exclude) {
            Owned given(u, v, distinct, &exclude);
            return told(best_wide_pair(given.view, threshold, given.limits, given.scratch));
        },
        "u"_a, "v"_a, "threshold"_a, "distinct"_a, "exclude"_a);
    m.def(
        "any_wider",
        [](Matrix v, double threshold, Pairs exclude) {
            Owned given({}, v, false, &exclude);
            return any_wider(given.view, threshold, given.limits, given.scratch);
        },
        "v"_a, "threshold"_a, "exclude"_a);
    m.def(
        "random_wide_pair",
        [](Matrix v, double threshold, Words words, Pairs exclude) {
            Owned given({}, v, false, &exclude);
            Random random = random_of(words);
            return told(random_wide_pair(given.view, threshold, given.limits, random, given.scratch));
        },
        "v"_a, "threshold"_a, "words"_a, "exclude"_a);
    m.def(
        "challenger",
        [](Vector u, Matrix v, i64 champion, double bonus, bool distinct, Pairs exclude) {
            Owned given(u, v, distinct, &exclude);
            if (champion < 0 || champion >= given.view.n) throw std::invalid_argument("there is no such champion");
            return challenger(given.view, champion, bonus, given.limits, given.scratch);
        },
        "u"_a, "v"_a, "champion"_a, "bonus"_a, "distinct"_a, "exclude"_a);
    m.def(
        "undominated",
        [](Vector u, Matrix v, double radius) {
            Owned given(u, v);
            std::vector<i64> kept(static_cast<std::size_t>(given.view.n));
            kept.resize(static_cast<std::size_t>(undominated(given.view, radius, kept.data(), given.scratch)));
            return kept;
        },
        "u"_a, "v"_a, "radius"_a);
    m.def(
        "best_local_pair",
        [](Vector u, Matrix v, const std::string& link, double stretch, double horizon, bool distinct, Pairs exclude) {
            Owned given(u, v, distinct, &exclude);
            LocalBonus bonus{link_named(link), stretch, horizon};
            return told(best_local_pair(given.view, bonus, given.limits, given.scratch));
        },
        "u"_a, "v"_a, "link"_a, "stretch"_a, "horizon"_a, "distinct"_a, "exclude"_a);

    m.def(
        "search_best",
        [](Vector u, Matrix v, double radius, double slack) {
            Owned given(u, v);
            return told(search_best(given.view, radius, given.limits, slack));
        },
        "u"_a, "v"_a, "radius"_a, "slack"_a = 1.0);
    m.def(
        "search_widest",
        [](Matrix v, double slack) {
            Owned given({}, v);
            return told(search_widest(given.view, given.limits, slack));
        },
        "v"_a, "slack"_a = 1.0);
    m.def(
        "search_wider",
        [](Matrix v, double threshold, double slack) {
            Owned given({}, v);
            return told(search_wider(given.view, threshold, given.limits, slack));
        },
        "v"_a, "threshold"_a, "slack"_a = 1.0);
    m.def(
        "search_best_wide",
        [](Vector u, Matrix v, double threshold, double slack) {
            Owned given(u, v);
            return told(search_best_wide(given.view, threshold, given.limits, slack));
        },
        "u"_a, "v"_a, "threshold"_a, "slack"_a = 1.0);
    m.def(
        "search_random_wide",
        [](Matrix v, double threshold, Words words, double slack) {
            Owned given({}, v);
            Random random = random_of(words);
            return told(search_random_wide(given.view, threshold, given.limits, random, slack));
        },
        "v"_a, "threshold"_a, "words"_a, "slack"_a = 1.0);
    m.def(
        "search_undominated",
        [](Vector u, Matrix v, double radius, double slack) {
            Owned given(u, v);
            std::vector<i64> kept(static_cast<std::size_t>(given.view.n));
            i64 examined = 0;
            i64 count = search_undominated(given.view, radius, kept.data(), &examined, slack);
            kept.resize(static_cast<std::size_t>(count));
            return nb::make_tuple(kept, examined);
        },
        "u"_a, "v"_a, "radius"_a, "slack"_a = 1.0);

    m.def("effective_horizon", &effective_horizon, "horizon"_a, "t"_a);
    m.def("layers_for", &layers_for, "finest"_a);
    m.def("practical_radius", &practical_radius, "dim"_a, "horizon"_a);
    m.def("warmed_glm_radius", &warmed_glm_radius, "dim"_a, "horizon"_a, "kappa"_a, "delta"_a);
    m.def("stagewise_radius", &stagewise_radius, "n_arms"_a, "horizon"_a, "kappa"_a, "delta"_a);
    m.def("variance_aware_radius", &variance_aware_radius, "layer"_a, "variance"_a, "kappa"_a, "t"_a, "layers"_a,
          "delta"_a);
    m.def("log_loss_radius", &log_loss_radius, "dim"_a, "t"_a, "theta_bound"_a, "reach"_a, "ridge"_a, "delta"_a);
}

}  // namespace duelist
