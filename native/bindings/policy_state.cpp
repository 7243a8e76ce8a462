// The state of a policy: created for its first arms, and stored in snapshots.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/state_parts.hpp"
#include "model/policy_state.hpp"

namespace duelist {

namespace {

constexpr i64 MAX_STORED_LAYERS = 4096, MAX_DIM = 1 << 20, MAX_ROWS = i64{1} << 40;

PolicyState new_policy_state(i64 dim, const std::string& link, bool online, Words words, double kappa, double units,
                             double bound, double ridge, double prior, std::optional<Matrix> first_arms) {
    require(dim >= 1 && dim <= MAX_DIM, "The dimension must be between 1 and 2^20.");
    require(ridge > 0.0 && ridge < INF && prior > 0.0 && prior < INF, "ridge and prior must be positive and finite.");
    require(kappa > 0.0 && bound > 0.0, "kappa and bound must be positive.");
    PolicyState state(dim, link_from_name(link), online);
    state.random = generator(words);
    state.kappa = kappa;
    state.units = units;
    state.bound = bound;
    state.base_ridge = ridge;
    state.base_prior = prior;
    if (first_arms) start_feature_scale(state.scale, *first_arms, dim);
    return state;
}

// -- snapshots --------------------------------------------------------------------------------

template <class T, class Get>
nb::ndarray<nb::numpy, T> per_layer(const PolicyState& state, Get&& get) {
    std::vector<T> values;
    for (const Layer& layer : state.layers) values.push_back(static_cast<T>(get(layer)));
    return to_numpy(values);
}

FloatArray matrices(const PolicyState& state, AlignedDoubles Layer::* which) {
    i64 dim = state.dim, size = dim * dim;
    std::vector<double> all;
    for (const Layer& layer : state.layers) all.insert(all.end(), (layer.*which).data(), (layer.*which).data() + size);
    return to_numpy(all.data(), {state.n_layers(), dim, dim});
}

void write_votes(nb::dict& out, const PolicyState& state) {
    std::vector<double> z, mass, wins;
    std::vector<i64> counts;
    for (const Layer& layer : state.layers) {
        const AggregatedVotes& rows = *layer.rows;
        counts.push_back(rows.count());
        for (i64 s = 0; s < rows.count(); s++)
            for (i64 k = 0; k < state.dim; k++) z.push_back(rows.entry(s, k));
        mass.insert(mass.end(), rows.mass(), rows.mass() + rows.count());
        wins.insert(wins.end(), rows.wins(), rows.wins() + rows.count());
    }
    out["n_rows"] = to_numpy(counts);
    out["z"] = to_numpy(z.data(), {static_cast<i64>(mass.size()), state.dim});
    out["mass"] = to_numpy(mass);
    out["wins"] = to_numpy(wins);
}

ArrayDict arrays_of(const PolicyState& state) {
    std::vector<double> theta;
    for (const Layer& layer : state.layers)
        theta.insert(theta.end(), layer.theta.data(), layer.theta.data() + state.dim);
    nb::dict out;
    out["words"] = to_numpy(state.random);
    double scalars[] = {state.kappa, state.units, state.bound, state.base_ridge, state.base_prior};
    out["scalars"] = to_numpy(scalars, {5});
    out["rounds"] = to_numpy(&state.rounds, {1});
    out["ridge"] = per_layer<double>(state, [](const Layer& l) { return l.ridge; });
    out["prior"] = per_layer<double>(state, [](const Layer& l) { return l.prior; });
    write_feature_scale(out, state.scale, state.dim);
    write_ties(out, state.ties, state.link);
    i64 early_votes = state.has_all_early_votes ? 1 : 0;
    out["early_votes"] = to_numpy(&early_votes, {1});
    out["radius"] = per_layer<double>(state, [](const Layer& l) { return l.radius; });
    out["learned"] = per_layer<double>(state, [](const Layer& l) { return l.learned; });
    out["residual"] = per_layer<double>(state, [](const Layer& l) { return l.residual; });
    out["fit_status"] = per_layer<i64>(state, [](const Layer& l) { return l.fit_status; });
    out["stale"] = per_layer<i64>(state, [](const Layer& l) { return l.stale; });
    out["last_update"] = per_layer<i64>(state, [](const Layer& l) { return l.last_update; });
    out["theta"] = to_numpy(theta.data(), {state.n_layers(), state.dim});
    out["factor"] = matrices(state, &Layer::factor);
    out["curvature"] = matrices(state, &Layer::curvature);
    write_votes(out, state);
    return ArrayDict(out);
}

// Upper triangular factors with a positive diagonal.
std::vector<double> read_factors(const nb::dict& arrays, const char* name, i64 layers, i64 dim) {
    std::vector<double> all = read_finite(arrays, name, {layers, dim, dim});
    for (i64 layer = 0; layer < layers; layer++)
        for (i64 k = 0; k < dim; k++)
            if (!(all[(layer * dim + k) * dim + k] > 0.0))
                throw std::invalid_argument(std::string("Array '") + name + "' has a diagonal that is not positive.");
    return all;
}

void read_votes(PolicyState& state, const nb::dict& arrays, const std::vector<i64>& counts) {
    i64 total = 0, dim = state.dim;
    for (i64 count : counts) {
        if (count < 0 || count > MAX_ROWS) throw std::invalid_argument("Array 'n_rows' contains an invalid count.");
        total += count;
    }
    std::vector<double> z = read_finite(arrays, "z", {total, dim}), mass = read_finite(arrays, "mass", {total}, 0.0);
    std::vector<double> wins = read_finite(arrays, "wins", {total});
    i64 row = 0;
    for (i64 number = 0; number < state.n_layers(); number++) {
        AggregatedVotes& rows = *state.layer(number).rows;
        i64 count = counts[number];
        rows.reserve(count);
        for (i64 s = 0; s < count; s++, row++) rows.add(z.data() + row * dim, mass[row], wins[row]);
        require(rows.count() == count, "Array 'z' contains a difference twice.");
    }
}

void read_layers(PolicyState& state, const nb::dict& arrays, i64 layers) {
    i64 dim = state.dim;
    std::vector<double> theta = read_finite(arrays, "theta", {layers, dim});
    std::vector<double> factor = read_factors(arrays, "factor", layers, dim);
    std::vector<double> curvature = read_factors(arrays, "curvature", layers, dim);
    std::vector<double> ridge = read_finite(arrays, "ridge", {layers}), prior = read_finite(arrays, "prior", {layers});
    std::vector<double> radius = read_finite(arrays, "radius", {layers});
    std::vector<double> learned = read_finite(arrays, "learned", {layers}, 0.0);
    std::vector<double> residual = read_finite(arrays, "residual", {layers});
    std::vector<i64> status = read_array<i64>(arrays, "fit_status", {layers});
    std::vector<i64> stale = read_array<i64>(arrays, "stale", {layers});
    std::vector<i64> last_update = read_array<i64>(arrays, "last_update", {layers});
    for (i64 l = 0; l < layers; l++) {
        if (!(ridge[l] > 0.0) || !(prior[l] > 0.0) || status[l] < 0 || status[l] > 2 || last_update[l] < 0 ||
            last_update[l] > MAX_ROUNDS)
            throw std::invalid_argument("Layer " + std::to_string(l) + " has invalid values.");
        state.add_layer(ridge[l], prior[l], radius[l]);
        Layer& layer = state.layer(l);
        layer.learned = learned[l];
        layer.residual = residual[l];
        layer.fit_status = static_cast<FitStatus>(status[l]);
        layer.stale = stale[l] != 0;
        layer.last_update = last_update[l];
        std::copy_n(theta.data() + l * dim, dim, layer.theta.data());
        std::copy_n(factor.data() + l * dim * dim, dim * dim, layer.factor.data());
        std::copy_n(curvature.data() + l * dim * dim, dim * dim, layer.curvature.data());
    }
}

PolicyState restore_policy_state(i64 dim, i64 layers, const std::string& link, bool online, const ArrayDict& arrays) {
    if (dim < 1 || dim > MAX_DIM || layers < 1 || layers > MAX_STORED_LAYERS)
        throw std::invalid_argument("A state cannot have " + std::to_string(layers) + " layers of dimension " +
                                    std::to_string(dim) + ".");
    PolicyState state(dim, link_from_name(link), online);
    state.random = read_generator(arrays);
    std::vector<double> scalars = read_array<double>(arrays, "scalars", {5});
    for (double x : scalars)
        if (!(x > 0.0)) throw std::invalid_argument("Array 'scalars' contains " + std::to_string(x) + ".");
    state.kappa = scalars[0];
    state.units = scalars[1];
    state.bound = scalars[2];
    state.base_ridge = scalars[3];
    state.base_prior = scalars[4];
    state.rounds = read_array<i64>(arrays, "rounds", {1})[0];
    if (state.rounds < 0 || state.rounds > MAX_ROUNDS)
        throw std::invalid_argument("The number of rounds is " + std::to_string(state.rounds) + ".");
    read_feature_scale(state.scale, arrays, dim);
    read_ties(state.ties, state.link, arrays);
    std::vector<i64> counts = read_array<i64>(arrays, "n_rows", {layers});
    read_layers(state, arrays, layers);
    read_votes(state, arrays, counts);
    state.has_all_early_votes = read_array<i64>(arrays, "early_votes", {1})[0] != 0;
    return state;
}

// The variance of each feature, and the largest distance of an arm from the mean.
std::tuple<FloatArray, double> arm_spread(Matrix arms) {
    i64 n = arms.extent(0), dim = arms.extent(1);
    require(n > 0 && dim > 0, "There are no arms, or no features.");
    std::vector<double> variances, center(static_cast<std::size_t>(dim), 0.0);
    for (i64 k = 0; k < dim; k++) variances.push_back(FeatureScale::variance_of(arms.data() + k, n, dim));
    for (i64 a = 0; a < n; a++)
        for (i64 k = 0; k < dim; k++) center[k] += arms.data()[a * dim + k];
    for (double& c : center) c /= static_cast<double>(n);
    double largest = 0.0;
    for (i64 a = 0; a < n; a++) {
        double square = 0.0;
        for (i64 k = 0; k < dim; k++) {
            double gap = arms.data()[a * dim + k] - center[k];
            square += gap * gap;
        }
        largest = std::max(largest, square);
    }
    return {to_numpy(variances), std::sqrt(largest)};
}

}  // namespace

void bind_policy_state(nb::module_& m) {
    nb::class_<PolicyState>(m, "PolicyState", "The state of a policy that uses features.")
        .def_prop_ro("dim", [](const PolicyState& state) { return state.dim; })
        .def_prop_ro("n_layers", [](const PolicyState& state) { return state.n_layers(); })
        .def_prop_ro("rounds", [](const PolicyState& state) { return state.rounds; })
        .def_prop_ro("link", [](const PolicyState& state) { return name_of(state.link); })
        .def("arrays", &arrays_of);
    m.def("new_policy_state", &new_policy_state, "dim"_a, "link"_a, "online"_a, "words"_a, "kappa"_a, "units"_a,
          "bound"_a, "ridge"_a, "prior"_a, "first_arms"_a = nb::none());
    m.def("restore_policy_state", &restore_policy_state, "dim"_a, "layers"_a, "link"_a, "online"_a, "arrays"_a);
    m.def("arm_spread", &arm_spread, "arms"_a);
}

}  // namespace duelist
