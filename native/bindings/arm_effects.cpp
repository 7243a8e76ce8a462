// The state of a policy with arm effects: votes, decisions, inspection and snapshots.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/feature_scale.hpp"
#include "policies/selection_rule.hpp"
#include "search/arm_effects_view.hpp"

namespace duelist {

namespace {

constexpr i64 MAX_DIM = 1 << 14, MAX_BLOCK = 1 << 14;

void check_arm(i64 arm) {
    if (arm < 0 || arm >= MAX_ARM_ID) throw std::invalid_argument("Arm id " + std::to_string(arm) + " is invalid.");
}

ArmEffectsState make_state(const std::string& link, const std::vector<double>& theta_variance, double effect_variance,
                           i64 block) {
    require(static_cast<i64>(theta_variance.size()) <= MAX_DIM, "There are more than 2^14 features.");
    require(block >= 2 && block <= MAX_BLOCK, "The block size must be between 2 and 2^14.");
    for (double v : theta_variance) require(v >= 0.0 && v < INF, "theta_variance must be finite and not negative.");
    require(effect_variance > 0.0 && effect_variance < INF, "effect_variance must be positive and finite.");
    return ArmEffectsState(link_from_name(link), theta_variance, effect_variance, block);
}

// The prior, given the features of the first arms, of which there may be none.
ArmEffectsState new_arm_effects(const std::string& link, Matrix features, double effect_variance, i64 block,
                                Words words) {
    i64 n = features.extent(0), dim = features.extent(1);
    ArmEffectsState state = make_state(link, std::vector<double>(dim, 0.0), effect_variance, block);
    if (dim > 0) {
        require(n > 0, "There are no arms.");
        state.scale.start(features.data(), n, dim);
        state.n_scaled_features = dim;
        state.observe_arms(features.data(), n);
    }
    state.random = generator(words);
    return state;
}

ArmTable table_of(const ArmEffectsState& state, const Integers& ids, const Matrix& features, bool distinct = false,
                  const PairSet* excluded = nullptr) {
    i64 n = ids.extent(0);
    require(n > 0 && features.extent(0) == n && features.extent(1) == state.dim, "The arms do not match the policy.");
    for (i64 id : ids.span()) check_arm(id);
    return {features.data(), n, state.dim, distinct, excluded && excluded->size() ? excluded : nullptr, ids.data()};
}

void learn(ArmEffectsState& state, i64 first, i64 second, Vector difference, double outcome, double mass) {
    check_arm(first);
    check_arm(second);
    require(difference.extent(0) == state.dim, "The difference does not match the policy.");
    require(outcome >= 0.0 && outcome <= 1.0 && mass >= 0.0 && mass < INF, "outcome or mass is invalid.");
    if (mass > 0.0) state.learn({first, second, difference.data()}, outcome, mass);
}

// The duel of round t with pending duels counted as observed, and the generator after it.
std::tuple<i64, i64, WordArray> decide(const ArmEffectsState& state, const SelectionRule& rule, Integers ids,
                                       Matrix features, bool distinct, const IndexPairs& exclude,
                                       const IndexPairs& pending, Matrix differences, Vector masses,
                                       std::optional<Words> words, i64 t) {
    i64 count = pending.extent(0);
    require(differences.extent(0) == count && masses.extent(0) == count &&
                (count == 0 || differences.extent(1) == state.dim),
            "The pending duels do not match the policy.");
    require(t >= 0 && t <= MAX_ROUNDS, "t is invalid.");
    PairSet excluded = pair_set(exclude, ids.extent(0));
    ArmTable table = table_of(state, ids, features, distinct, &excluded);
    Sfc64 random = words ? generator(*words) : state.random;
    std::optional<ArmEffectsState> expected = state.for_round(table.features, table.n);
    if (count > 0 && !expected) expected = state;
    for (i64 k = 0; k < count; k++) {
        i64 first = pending.data()[2 * k], second = pending.data()[2 * k + 1];
        double mass = masses.data()[k];
        check_arm(first);
        check_arm(second);
        require(mass >= 0.0 && mass < INF, "The mass of a pending duel is invalid.");
        if (mass > 0.0) expected->add_expected({first, second, differences.data() + k * state.dim}, mass);
    }
    Decision duel = rule.decide_with_effects(expected ? *expected : state, random, t, table);
    return {duel.first, duel.second, to_numpy(random)};
}

// Utilities and variances of arms, and covariances of the chosen ones with all.
std::tuple<FloatArray, FloatArray, FloatArray> posterior(const ArmEffectsState& state, Integers ids, Matrix features,
                                                         Integers chosen) {
    ArmTable table = table_of(state, ids, features);
    std::optional<ArmEffectsState> adapted = state.for_round(table.features, table.n);
    ArmEffectsView view(adapted ? *adapted : state, table);
    i64 count = chosen.extent(0);
    std::vector<double> rows(static_cast<std::size_t>(count * table.n));
    for (i64 k = 0; k < count; k++) {
        i64 arm = chosen.data()[k];
        require(arm >= 0 && arm < table.n, "A chosen arm has an invalid position.");
        view.covariances(arm, ArmSubset::all(table.n), rows.data() + k * table.n);
    }
    std::vector<double> utilities(view.u(), view.u() + table.n);
    for (double& utility : utilities) utility += view.level();
    return {to_numpy(utilities), to_numpy(view.variance(), {table.n}), to_numpy(rows.data(), {count, table.n})};
}

// Squared widths of the pairs of an arm with all others.
FloatArray squared_widths(const ArmEffectsState& state, Integers ids, Matrix features, i64 arm) {
    ArmTable table = table_of(state, ids, features);
    require(arm >= 0 && arm < table.n, "The arm has an invalid position.");
    std::optional<ArmEffectsState> adapted = state.for_round(table.features, table.n);
    std::vector<double> out(static_cast<std::size_t>(table.n));
    ArmEffectsView(adapted ? *adapted : state, table).squared_widths(arm, ArmSubset::all(table.n), out.data());
    return to_numpy(out);
}

// The prior variances of theta in a round with these arms.
FloatArray prior_variances(const ArmEffectsState& state, Matrix features) {
    require(features.extent(0) > 0 && features.extent(1) == state.dim, "The arms do not match the policy.");
    std::optional<ArmEffectsState> adapted = state.for_round(features.data(), features.extent(0));
    return to_numpy((adapted ? *adapted : state).theta_variance);
}

// -- snapshots --------------------------------------------------------------------------------

void write_early_votes(nb::dict& out, const ArmEffectsState& state) {
    std::vector<i64> arms;
    std::vector<double> outcomes, differences;
    for (const ArmEffectsState::EarlyVote& vote : state.early_votes) {
        arms.insert(arms.end(), {vote.first, vote.second});
        outcomes.insert(outcomes.end(), {vote.outcome, vote.mass});
        differences.insert(differences.end(), vote.difference.begin(), vote.difference.end());
    }
    i64 count = static_cast<i64>(state.early_votes.size()), is_complete = state.has_all_early_votes ? 1 : 0;
    out["early_votes"] = to_numpy(&is_complete, {1});
    out["early_arms"] = to_numpy(arms.data(), {count, 2});
    out["early_outcomes"] = to_numpy(outcomes.data(), {count, 2});
    out["early_differences"] = to_numpy(differences.data(), {count, state.dim});
}

ArrayDict arrays_of(const ArmEffectsState& state) {
    std::vector<double> mean, variance, lower_half;
    for (const ArmEffectsState::ArmEffect& effect : state.effects()) {
        mean.push_back(effect.mean);
        variance.push_back(effect.variance);
    }
    for (i64 i = 0; i < state.size(); i++)
        lower_half.insert(lower_half.end(), state.covariance_row(i), state.covariance_row(i) + i + 1);
    i64 block = state.block(), uses = state.uses();
    nb::dict out;
    out["words"] = to_numpy(state.random);
    out["block"] = to_numpy(&block, {1});
    out["uses"] = to_numpy(&uses, {1});
    out["effect_variance"] = to_numpy(&state.effect_variance, {1});
    out["theta_variance"] = to_numpy(state.theta_variance);
    out["theta"] = to_numpy(state.theta);
    out["mean"] = to_numpy(mean);
    out["variance"] = to_numpy(variance);
    out["arms_in_block"] = to_numpy(state.arms_in_block());
    out["last_uses"] = to_numpy(state.last_uses());
    out["covariance"] = to_numpy(lower_half);
    if (!state.scale.adaptive) return ArrayDict(out);
    out["n_scaled_features"] = to_numpy(&state.n_scaled_features, {1});
    write_feature_scale(out, state.scale, state.dim);
    write_early_votes(out, state);
    return ArrayDict(out);
}

void read_early_votes(ArmEffectsState& state, const nb::dict& arrays) {
    i64 count = length_of(arrays, "early_arms"), dim = state.dim;
    std::vector<i64> arms = read_array<i64>(arrays, "early_arms", {count, 2});
    std::vector<double> outcomes = read_finite(arrays, "early_outcomes", {count, 2}, 0.0);
    std::vector<double> differences = read_finite(arrays, "early_differences", {count, dim});
    state.has_all_early_votes = read_array<i64>(arrays, "early_votes", {1})[0] != 0;
    require(count == 0 || (state.scale.early() && state.has_all_early_votes), "Early votes were stored for too long.");
    for (i64 k = 0; k < count; k++) {
        i64 first = arms[2 * k], second = arms[2 * k + 1];
        check_arm(first);
        check_arm(second);
        require(first < second && outcomes[2 * k] <= 1.0, "An early vote has invalid values.");
        const double* z = differences.data() + k * dim;
        state.early_votes.push_back({first, second, {z, z + dim}, outcomes[2 * k], outcomes[2 * k + 1]});
    }
}

// The effects of all arms, given the arms of the block.
std::vector<ArmEffectsState::ArmEffect> read_effects(const nb::dict& arrays, const std::vector<i64>& arms_in_block) {
    i64 n = length_of(arrays, "mean");
    require(n <= MAX_ARM_ID, "There are too many arms.");
    std::vector<double> mean = read_finite(arrays, "mean", {n}), variance = read_finite(arrays, "variance", {n}, 0.0);
    std::vector<ArmEffectsState::ArmEffect> effects;
    for (i64 a = 0; a < n; a++) effects.push_back({mean[a], variance[a], -1});
    for (i64 slot = 0; slot < static_cast<i64>(arms_in_block.size()); slot++) {
        i64 arm = arms_in_block[slot];
        require(arm >= 0 && arm < n && effects[arm].slot < 0, "Array 'arms_in_block' has an invalid or repeated arm.");
        effects[arm].slot = slot;
    }
    return effects;
}

ArmEffectsState restore_arm_effects(const std::string& link, const ArrayDict& arrays) {
    i64 dim = length_of(arrays, "theta"), slots = length_of(arrays, "arms_in_block"), size = dim + slots;
    i64 block = read_array<i64>(arrays, "block", {1})[0], uses = read_array<i64>(arrays, "uses", {1})[0];
    ArmEffectsState state = make_state(link, read_array<double>(arrays, "theta_variance", {dim}),
                                       read_array<double>(arrays, "effect_variance", {1})[0], block);
    require(slots <= block && uses >= 0 && uses <= MAX_ROUNDS, "The block has too many arms, or 'uses' is invalid.");
    state.random = read_generator(arrays);
    state.theta = read_finite(arrays, "theta", {dim});
    std::vector<i64> arms_in_block = read_array<i64>(arrays, "arms_in_block", {slots});
    std::vector<i64> last_uses = read_array<i64>(arrays, "last_uses", {slots});
    for (i64 use : last_uses) require(use >= 0 && use <= uses, "Array 'last_uses' is invalid.");
    std::vector<double> lower_half = read_finite(arrays, "covariance", {size * (size + 1) / 2});
    for (i64 k = 0; k < size; k++) require(lower_half[k * (k + 3) / 2] >= 0.0, "A variance is negative.");
    std::vector<ArmEffectsState::ArmEffect> effects = read_effects(arrays, arms_in_block);
    state.restore(std::move(effects), std::move(arms_in_block), std::move(last_uses), uses, lower_half);
    if (!arrays.contains("scale")) return state;  // without features
    read_feature_scale(state.scale, arrays, dim);
    state.n_scaled_features = read_array<i64>(arrays, "n_scaled_features", {1})[0];
    require(state.n_scaled_features >= 1 && state.n_scaled_features <= dim, "'n_scaled_features' is invalid.");
    read_early_votes(state, arrays);
    return state;
}

}  // namespace

void bind_arm_effects(nb::module_& m) {
    nb::class_<ArmEffectsState>(m, "ArmEffectsState", "The posterior of a policy with arm effects.")
        .def_prop_ro("dim", [](const ArmEffectsState& state) { return state.dim; })
        .def_prop_ro("votes", [](const ArmEffectsState& state) { return state.uses() / 2; })
        .def_prop_ro(
            "theta", [](const ArmEffectsState& state) { return to_numpy(state.theta); }, nb::rv_policy::move)
        .def(
            "set_words", [](ArmEffectsState& state, Words words) { state.random = generator(words); }, "words"_a)
        .def(
            "observe_arms",
            [](ArmEffectsState& state, Matrix features) {
                require(features.extent(1) == state.dim, "The arms do not match the policy.");
                state.observe_arms(features.data(), features.extent(0));
            },
            "features"_a)
        .def("prior_variances", &prior_variances, "features"_a)
        .def("learn", &learn, "first"_a, "second"_a, "difference"_a, "outcome"_a, "mass"_a)
        .def("decide", &decide, "rule"_a, "ids"_a, "features"_a, "distinct"_a, "exclude"_a, "pending"_a,
             "differences"_a, "masses"_a, "words"_a.none(), "t"_a)
        .def("posterior", &posterior, "ids"_a, "features"_a, "chosen"_a)
        .def("squared_widths", &squared_widths, "ids"_a, "features"_a, "arm"_a)
        .def("arrays", &arrays_of);
    m.def("new_arm_effects", &new_arm_effects, "link"_a, "features"_a, "effect_variance"_a, "block"_a, "words"_a);
    m.def("restore_arm_effects", &restore_arm_effects, "link"_a, "arrays"_a);
}

}  // namespace duelist
