// Searches, random numbers and radii on their own, so that tests can compare each with an independent computation.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "policies/confidence_radius.hpp"
#include "policies/local_bonus.hpp"
#include "search/pruned_search.hpp"

namespace duelist {

namespace {

using Pair = std::tuple<i64, i64, double>;
using PairAndExamined = std::tuple<i64, i64, double, i64>;

// A padded copy of utilities and columns (dim, n), so that nothing outside is overwritten.
struct SearchInput {
    Workspace workspace;
    ArmView view;
    PairSet out;
    PairConstraints constraints;

    SearchInput(const Vector& u, const Matrix& v, bool distinct = false, const IndexPairs* exclude = nullptr) {
        i64 dim = v.extent(0), n = v.extent(1), stride = padded(n);
        if (n == 0 || (u.is_valid() && u.shape(0) != v.shape(1))) throw std::invalid_argument("u and v do not match.");
        workspace.fit(n, dim);
        if (u.is_valid()) std::copy_n(u.data(), n, workspace.u.data());
        for (i64 k = 0; k < dim; k++) std::copy_n(v.data() + k * n, n, workspace.v.data() + k * stride);
        view = {workspace.u.data(), workspace.v.data(), n, stride, dim};
        if (exclude) out = pair_set(*exclude, n);
        constraints = {distinct, out.size() ? &out : nullptr, nullptr};
    }
};

Pair to_tuple(const FoundPair& pair) { return {pair.first, pair.second, pair.value}; }
PairAndExamined to_tuple(const SearchResult& s) { return {s.first, s.second, s.value, s.examined}; }

template <class Function>
auto elementwise(Function function) {
    return [function](const Vector& x) {
        std::vector<double> out(x.shape(0));
        for (std::size_t k = 0; k < out.size(); k++) out[k] = function(x.data()[k]);
        return to_numpy(out);
    };
}

// n draws of a kind, and the generator after them.
std::tuple<FloatArray, WordArray> draw_numbers(const Words& words, const std::string& kind, i64 n, i64 upper) {
    constexpr i64 MAX_DRAWS = 10'000'000;
    if (n < 0 || n > MAX_DRAWS || upper < 1)
        throw std::invalid_argument("n must be between 0 and " + std::to_string(MAX_DRAWS) + ", and upper at least 1.");
    Sfc64 random = generator(words);
    auto draw = [&]() -> double {
        if (kind == "uniform") return random.uniform();
        if (kind == "gumbel") return random.gumbel();
        if (kind == "normal") return random.normal();
        if (kind == "below") return static_cast<double>(random.below(upper));
        throw std::invalid_argument("There is no kind of draw '" + kind + "'.");
    };
    std::vector<double> out(static_cast<std::size_t>(n));
    for (double& x : out) x = draw();
    return {to_numpy(out), to_numpy(random)};
}

}  // namespace

void bind_search_for_tests(nb::module_& m) {
    m.def("exp_neg_abs", elementwise([](double x) { return exp_neg_abs(x); }));
    m.def("log", elementwise([](double x) { return log(x); }));
    m.def("log1p", elementwise([](double x) { return log1p(x); }));
    m.def("erfc", elementwise([](double x) { return erfc(x); }));
    m.def("cos_2pi", elementwise([](double x) { return cos_2pi(x); }));
    m.def("draw", &draw_numbers, "words"_a, "kind"_a, "n"_a, "upper"_a = 1);

    m.def(
        "best_pair",
        [](Vector u, Matrix v, double radius, bool distinct, IndexPairs exclude) {
            SearchInput given(u, v, distinct, &exclude);
            return to_tuple(best_pair(given.view, radius, given.constraints, given.workspace));
        },
        "u"_a, "v"_a, "radius"_a, "distinct"_a, "exclude"_a);
    m.def(
        "widest_pair",
        [](Matrix v, bool distinct, IndexPairs exclude) {
            SearchInput given({}, v, distinct, &exclude);
            return to_tuple(widest_pair(given.view, given.constraints, given.workspace));
        },
        "v"_a, "distinct"_a, "exclude"_a);
    m.def(
        "best_wide_pair",
        [](Vector u, Matrix v, double threshold, bool distinct, IndexPairs exclude) {
            SearchInput given(u, v, distinct, &exclude);
            return to_tuple(best_wide_pair(given.view, threshold, given.constraints, given.workspace));
        },
        "u"_a, "v"_a, "threshold"_a, "distinct"_a, "exclude"_a);
    m.def(
        "any_wider",
        [](Matrix v, double threshold, IndexPairs exclude) {
            SearchInput given({}, v, false, &exclude);
            return any_wider(given.view, threshold, given.constraints, given.workspace);
        },
        "v"_a, "threshold"_a, "exclude"_a);
    m.def(
        "random_wide_pair",
        [](Matrix v, double threshold, Words words, IndexPairs exclude) {
            SearchInput given({}, v, false, &exclude);
            Sfc64 random = generator(words);
            return to_tuple(random_wide_pair(given.view, threshold, given.constraints, random, given.workspace));
        },
        "v"_a, "threshold"_a, "words"_a, "exclude"_a);
    m.def(
        "challenger",
        [](Vector u, Matrix v, i64 champion, double bonus, bool distinct, IndexPairs exclude) {
            SearchInput given(u, v, distinct, &exclude);
            if (champion < 0 || champion >= given.view.n) throw std::invalid_argument("The champion is invalid.");
            return challenger(given.view, champion, bonus, given.constraints, given.workspace);
        },
        "u"_a, "v"_a, "champion"_a, "bonus"_a, "distinct"_a, "exclude"_a);
    m.def(
        "undominated",
        [](Vector u, Matrix v, double radius) {
            SearchInput given(u, v);
            std::vector<i64> kept(static_cast<std::size_t>(given.view.n));
            kept.resize(static_cast<std::size_t>(undominated(given.view, radius, kept.data(), given.workspace)));
            return kept;
        },
        "u"_a, "v"_a, "radius"_a);
    m.def(
        "best_local_pair",
        [](Vector u, Matrix v, const std::string& link, double stretch, double horizon, bool distinct,
           IndexPairs exclude) {
            SearchInput given(u, v, distinct, &exclude);
            LocalBonus bonus{link_from_name(link), stretch, horizon};
            return to_tuple(best_local_pair(given.view, bonus, given.constraints, given.workspace));
        },
        "u"_a, "v"_a, "link"_a, "stretch"_a, "horizon"_a, "distinct"_a, "exclude"_a);

    m.def(
        "search_best",
        [](Vector u, Matrix v, double radius, double slack, bool distinct, std::optional<IndexPairs> exclude) {
            SearchInput given(u, v, distinct, exclude ? &*exclude : nullptr);
            return to_tuple(search_best(given.view, radius, given.constraints, slack));
        },
        "u"_a, "v"_a, "radius"_a, "slack"_a = 1.0, "distinct"_a = false, "exclude"_a = nb::none());
    m.def(
        "search_widest",
        [](Matrix v, double slack, bool distinct, std::optional<IndexPairs> exclude) {
            SearchInput given({}, v, distinct, exclude ? &*exclude : nullptr);
            return to_tuple(search_widest(given.view, given.constraints, slack));
        },
        "v"_a, "slack"_a = 1.0, "distinct"_a = false, "exclude"_a = nb::none());
    m.def(
        "search_wider",
        [](Matrix v, double threshold, double slack, bool distinct, std::optional<IndexPairs> exclude) {
            SearchInput given({}, v, distinct, exclude ? &*exclude : nullptr);
            return to_tuple(search_wider(given.view, threshold, given.constraints, slack));
        },
        "v"_a, "threshold"_a, "slack"_a = 1.0, "distinct"_a = false, "exclude"_a = nb::none());
    m.def(
        "search_best_wide",
        [](Vector u, Matrix v, double threshold, double slack, bool distinct, std::optional<IndexPairs> exclude) {
            SearchInput given(u, v, distinct, exclude ? &*exclude : nullptr);
            return to_tuple(search_best_wide(given.view, threshold, given.constraints, slack));
        },
        "u"_a, "v"_a, "threshold"_a, "slack"_a = 1.0, "distinct"_a = false, "exclude"_a = nb::none());
    m.def(
        "search_random_wide",
        [](Matrix v, double threshold, Words words, double slack, std::optional<IndexPairs> exclude) {
            SearchInput given({}, v, false, exclude ? &*exclude : nullptr);
            Sfc64 random = generator(words);
            return to_tuple(search_random_wide(given.view, threshold, given.constraints, random, slack));
        },
        "v"_a, "threshold"_a, "words"_a, "slack"_a = 1.0, "exclude"_a = nb::none());
    m.def(
        "search_undominated",
        [](Vector u, Matrix v, double radius, double slack) {
            SearchInput given(u, v);
            std::vector<i64> kept(static_cast<std::size_t>(given.view.n));
            i64 examined = 0;
            i64 count = search_undominated(given.view, radius, kept.data(), &examined, slack);
            kept.resize(static_cast<std::size_t>(count));
            return std::tuple(kept, examined);
        },
        "u"_a, "v"_a, "radius"_a, "slack"_a = 1.0);

    m.def("effective_horizon", &effective_horizon, "horizon"_a, "t"_a);
    m.def("layers_for", &layers_for, "finest"_a);
    m.def("practical_radius", &practical_radius, "dim"_a, "horizon"_a);
    m.def("warmed_glm_radius", &warmed_glm_radius, "dim"_a, "horizon"_a, "kappa"_a, "delta"_a);
    m.def("stagewise_radius", &stagewise_radius, "n_arms"_a, "horizon"_a, "kappa"_a, "delta"_a);
    m.def(
        "variance_aware_radius",
        [](i64 layer, double variance, double kappa, i64 t, i64 layers, double delta) {
            if (layer < -MAX_LAYERS || layer > MAX_LAYERS) throw std::invalid_argument("The layer is invalid.");
            return variance_aware_radius(layer, variance, kappa, t, layers, delta);
        },
        "layer"_a, "variance"_a, "kappa"_a, "t"_a, "layers"_a, "delta"_a);
    m.def("log_loss_radius", &log_loss_radius, "dim"_a, "t"_a, "theta_bound"_a, "reach"_a, "ridge"_a, "delta"_a);
}

}  // namespace duelist
