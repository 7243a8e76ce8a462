// States: made for a first set of arms, written into arrays, and read from arrays that anybody may have damaged.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/feature_scale.hpp"

namespace duelist {

namespace {

constexpr i64 MAX_LAYERS = 4096, MAX_DIM = 1 << 20;

PolicyState new_state(i64 dim, const std::string& link, bool online, Words words, double kappa, double units,
                      double bound, double ridge, double prior, std::optional<Matrix> sized_by) {
    if (dim < 1 || dim > MAX_DIM) throw std::invalid_argument("a state has from 1 to 2^20 features");
    if (!(ridge > 0.0 && ridge < INF && prior > 0.0 && prior < INF && kappa > 0.0 && bound > 0.0))
        throw std::invalid_argument("ridge, prior, kappa and bound must be positive");
    PolicyState state(dim, link_from_name(link), online);
    std::copy(words.data(), words.data() + 4, state.random.words.begin());
    state.kappa = kappa;
    state.units = units;
    state.bound = bound;
    state.base_ridge = ridge;
    state.base_prior = prior;
    if (sized_by) adopt_scale(state.scale, *sized_by, dim);
    return state;
}

template <class T, class Get>
nb::ndarray<nb::numpy, T> of_layers(const PolicyState& state, Get&& get) {
    std::vector<T> values;
    for (const Layer& layer : state.layers) values.push_back(static_cast<T>(get(layer)));
    return copied(values);
}

nb::ndarray<nb::numpy, double> matrices(const PolicyState& state, AlignedDoubles Layer::* which) {
    i64 dim = state.dim, size = dim * dim;
    std::vector<double> all;
    for (const Layer& layer : state.layers) all.insert(all.end(), (layer.*which).data(), (layer.*which).data() + size);
    return copied(all.data(), {state.n_layers(), dim, dim});
}

// Everything a state knows, as arrays by name.
nb::dict arrays_of(const PolicyState& state) {
    std::vector<double> theta, z, mass, wins;
    std::vector<i64> counts;
    for (const Layer& layer : state.layers) {
        theta.insert(theta.end(), layer.theta.data(), layer.theta.data() + state.dim);
        const AggregatedVotes& rows = *layer.rows;
        counts.push_back(rows.count());
        for (i64 s = 0; s < rows.count(); s++) {
            for (i64 k = 0; k < state.dim; k++) z.push_back(rows.entry(s, k));
            mass.push_back(rows.mass()[s]);
            wins.push_back(rows.wins()[s]);
        }
    }
    nb::dict out;
    out["words"] = copied(state.random.words.data(), {4});
    double scalars[] = {state.kappa, state.units, state.bound, state.base_ridge, state.base_prior};
    out["scalars"] = copied(scalars, {5});
    out["rounds"] = copied(&state.rounds, {1});
    out["ridge"] = of_layers<double>(state, [](const Layer& l) { return l.ridge; });
    out["prior"] = of_layers<double>(state, [](const Layer& l) { return l.prior; });
    write_feature_scale(out, state.scale, state.dim);
    i64 early_votes = state.has_all_early_votes ? 1 : 0;
    out["first_votes"] = copied(&early_votes, {1});
    out["radius"] = of_layers<double>(state, [](const Layer& l) { return l.radius; });
    out["learned"] = of_layers<double>(state, [](const Layer& l) { return l.learned; });
    out["residual"] = of_layers<double>(state, [](const Layer& l) { return l.residual; });
    out["solved"] = of_layers<i64>(state, [](const Layer& l) { return static_cast<i64>(l.fit_status); });
    out["stale"] = of_layers<i64>(state, [](const Layer& l) { return l.stale ? 1 : 0; });
    out["stamp"] = of_layers<i64>(state, [](const Layer& l) { return l.stamp; });
    out["theta"] = copied(theta.data(), {state.n_layers(), state.dim});
    out["factor"] = matrices(state, &Layer::factor);
    out["curvature"] = matrices(state, &Layer::curvature);
    out["n_rows"] = copied(counts);
    out["z"] = copied(z.data(), {static_cast<i64>(mass.size()), state.dim});
    out["mass"] = copied(mass);
    out["wins"] = copied(wins);
    return out;
}

// Upper factors: finite, with a positive diagonal.
std::vector<double> factors(const nb::dict& arrays, const char* name, i64 layers, i64 dim) {
    std::vector<double> all = finite(read_array<double>(arrays, name, {layers, dim, dim}), name);
    for (i64 layer = 0; layer < layers; layer++)
        for (i64 k = 0; k < dim; k++)
            if (!(all[(layer * dim + k) * dim + k] > 0.0))
                throw std::invalid_argument(std::string(name) + " is not a factor: its diagonal is not positive");
    return all;
}

void fill_rows(Layer& layer, const double* z, const double* mass, const double* wins, i64 count, i64 dim) {
    layer.rows->reserve(count);
    for (i64 s = 0; s < count; s++) layer.rows->add(z + s * dim, mass[s], wins[s]);
    if (layer.rows->count() != count) throw std::invalid_argument("a difference is there twice");
}

PolicyState restored(i64 dim, i64 layers, const std::string& link, bool online, const nb::dict& arrays) {
    if (dim < 1 || dim > MAX_DIM || layers < 1 || layers > MAX_LAYERS)
        throw std::invalid_argument("there are " + std::to_string(layers) + " layers of dimension " +
                                    std::to_string(dim));
    auto words = read_array<u64>(arrays, "words", {4});
    auto scalars = read_array<double>(arrays, "scalars", {5});
    for (double x : scalars)
        if (!(x > 0.0)) throw std::invalid_argument("scalars hold " + std::to_string(x));
    auto counts = read_array<i64>(arrays, "n_rows", {layers});
    i64 rows = 0;
    for (i64 count : counts) {
        if (count < 0 || count > (i64{1} << 40)) throw std::invalid_argument("n_rows holds " + std::to_string(count));
        rows += count;
    }
    auto z = finite(read_array<double>(arrays, "z", {rows, dim}), "z");
    auto mass = finite(read_array<double>(arrays, "mass", {rows}), "mass", 0.0);
    auto wins = finite(read_array<double>(arrays, "wins", {rows}), "wins");
    auto theta = finite(read_array<double>(arrays, "theta", {layers, dim}), "theta");
    auto factor = factors(arrays, "factor", layers, dim), curvature = factors(arrays, "curvature", layers, dim);
    auto ridge = finite(read_array<double>(arrays, "ridge", {layers}), "ridge");
    auto prior = finite(read_array<double>(arrays, "prior", {layers}), "prior");
    auto radius = finite(read_array<double>(arrays, "radius", {layers}), "radius");
    auto learned = finite(read_array<double>(arrays, "learned", {layers}), "learned", 0.0);
    auto residual = finite(read_array<double>(arrays, "residual", {layers}), "residual");
    auto fit_status = read_array<i64>(arrays, "solved", {layers}), stale = read_array<i64>(arrays, "stale", {layers});
    auto stamp = read_array<i64>(arrays, "stamp", {layers}), rounds = read_array<i64>(arrays, "rounds", {1});
    if (rounds[0] < 0 || rounds[0] > MAX_ROUNDS) throw std::invalid_argument("rounds are " + std::to_string(rounds[0]));

    PolicyState state(dim, link_from_name(link), online);
    std::copy(words.begin(), words.end(), state.random.words.begin());
    state.kappa = scalars[0];
    state.units = scalars[1];
    state.bound = scalars[2];
    state.base_ridge = scalars[3];
    state.base_prior = scalars[4];
    state.rounds = rounds[0];
    read_feature_scale(state.scale, arrays, dim);
    i64 at = 0;
    for (i64 l = 0; l < layers; l++) {
        if (!(ridge[l] > 0.0) || !(prior[l] > 0.0) || fit_status[l] < 0 || fit_status[l] > 2 || stamp[l] < 0 ||
            stamp[l] > MAX_ROUNDS)
            throw std::invalid_argument("layer " + std::to_string(l) + " is damaged");
        state.add_layer(ridge[l], prior[l], radius[l]);
        Layer& layer = state.layer(l);
        layer.learned = learned[l];
        layer.residual = residual[l];
        layer.fit_status = static_cast<FitStatus>(fit_status[l]);
        layer.stale = stale[l] != 0;
        layer.stamp = stamp[l];
        std::copy_n(theta.data() + l * dim, dim, layer.theta.data());
        std::copy_n(factor.data() + l * dim * dim, dim * dim, layer.factor.data());
        std::copy_n(curvature.data() + l * dim * dim, dim * dim, layer.curvature.data());
        fill_rows(layer, z.data() + at * dim, mass.data() + at, wins.data() + at, counts[l], dim);
        at += counts[l];
    }
    state.has_all_early_votes = read_array<i64>(arrays, "first_votes", {1})[0] != 0;
    return state;
}

// The variance of each feature, and the largest distance of an arm from their centre.
nb::tuple spread_of(Matrix arms) {
    i64 n = static_cast<i64>(arms.shape(0)), dim = static_cast<i64>(arms.shape(1));
    if (n == 0 || dim == 0) throw std::invalid_argument("there are no arms");
    std::vector<double> variances, centre(static_cast<std::size_t>(dim), 0.0);
    for (i64 k = 0; k < dim; k++) variances.push_back(FeatureScale::variance_of(arms.data() + k, n, dim));
    for (i64 a = 0; a < n; a++)
        for (i64 k = 0; k < dim; k++) centre[static_cast<std::size_t>(k)] += arms.data()[a * dim + k];
    for (double& c : centre) c /= static_cast<double>(n);
    double reach = 0.0;
    for (i64 a = 0; a < n; a++) {
        double square = 0.0;
        for (i64 k = 0; k < dim; k++) {
            double gap = arms.data()[a * dim + k] - centre[static_cast<std::size_t>(k)];
            square += gap * gap;
        }
        reach = std::max(reach, square);
    }
    return nb::make_tuple(copied(variances), std::sqrt(reach));
}

}  // namespace

void bind_state(nb::module_& m) {
    nb::class_<PolicyState>(m, "State")
        .def_prop_ro("dim", [](const PolicyState& state) { return state.dim; })
        .def_prop_ro("n_layers", [](const PolicyState& state) { return state.n_layers(); })
        .def_prop_ro("rounds", [](const PolicyState& state) { return state.rounds; })
        .def("arrays", &arrays_of);
    m.def("new_state", &new_state, "dim"_a, "link"_a, "online"_a, "words"_a, "kappa"_a, "units"_a, "bound"_a, "ridge"_a,
          "prior"_a, "sized_by"_a = nb::none());
    m.def("restore_state", &restored, "dim"_a, "layers"_a, "link"_a, "online"_a, "arrays"_a);
    m.def("spread", &spread_of, "arms"_a);
}

}  // namespace duelist
