// The state of a policy with arm effects: votes, decisions, inspection and snapshots.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/duels.hpp"
#include "bindings/state_parts.hpp"
#include "model/arm_effects_mixture.hpp"
#include "policies/selection_rule.hpp"
#include "search/arm_effects_view.hpp"

namespace duelist {

namespace {

constexpr i64 MAX_DIM = 1 << 14, MAX_BLOCK = 1 << 14;

void check_arm(i64 arm) {
    if (arm < 0 || arm >= MAX_ARM_ID) throw std::invalid_argument("Arm id " + std::to_string(arm) + " is invalid.");
}

ArmEffectsState make_state(const std::string& link, const std::vector<double>& theta_variance, double effect_variance,
                           double feature_variance, i64 block) {
    require(static_cast<i64>(theta_variance.size()) <= MAX_DIM, "There are more than 2^14 features.");
    require(block >= 2 && block <= MAX_BLOCK, "The block size must be between 2 and 2^14.");
    for (double v : theta_variance) require(v >= 0.0 && v < INF, "theta_variance must be finite and not negative.");
    for (double v : {effect_variance, feature_variance})
        require(v > 0.0 && v < INF, "Prior variances must be positive and finite.");
    return ArmEffectsState(link_from_name(link), theta_variance, effect_variance, feature_variance, block);
}

// The prior, given the features of the first arms, of which there may be none, and of each model the variance of arm
// effects, that of features, and the log weight.
ArmEffectsMixture new_arm_effects(const std::string& link, Matrix features, Matrix candidates, i64 block, Words words) {
    i64 n = features.extent(0), dim = features.extent(1);
    require(candidates.extent(0) > 0 && candidates.extent(1) == 3, "There are no candidate variances.");
    require(dim == 0 || n > 0, "There are no arms.");
    ArmEffectsMixture mixture;
    mixture.random = generator(words);
    for (i64 k = 0; k < candidates.extent(0); k++) {
        const double* candidate = candidates.data() + 3 * k;
        require(std::isfinite(candidate[2]), "A log weight is not finite.");
        ArmEffectsState state = make_state(link, std::vector<double>(dim, 0.0), candidate[0], candidate[1], block);
        if (dim > 0) {
            state.scale.start(features.data(), n, dim);
            state.n_scaled_features = dim;
            state.observe_arms(features.data(), n);
        }
        mixture.models.push_back({candidate[2], std::move(state)});
    }
    return mixture;
}

ArmTable table_of(const ArmEffectsState& state, const Integers& ids, const Matrix& features, bool distinct = false,
                  const PairSet* excluded = nullptr) {
    i64 n = ids.extent(0);
    require(n > 0 && features.extent(0) == n && features.extent(1) == state.dim, "The arms do not match the policy.");
    for (i64 id : ids.span()) check_arm(id);
    return {features.data(), n, state.dim, distinct, excluded && excluded->size() ? excluded : nullptr, ids.data()};
}

// Add pairs of ids to those excluded, by position.
void add_pairs(PairSet& excluded, const Integers& ids, const IndexPairs& pairs) {
    auto position = [&](i64 id) { return std::find(ids.data(), ids.data() + ids.extent(0), id) - ids.data(); };
    for (i64 k = 0; k < pairs.extent(0); k++) {
        i64 first = position(pairs.data()[2 * k]), second = position(pairs.data()[2 * k + 1]);
        if (first != second && std::max(first, second) < ids.extent(0)) excluded.add(first, second);
    }
    excluded.seal();
}

void learn(ArmEffectsMixture& mixture, i64 first, i64 second, Vector difference, double outcome, double mass,
           bool tie) {
    Exclusive exclusive(mixture);
    check_arm(first);
    check_arm(second);
    require(difference.extent(0) == mixture.best().dim, "The difference does not match the policy.");
    require(outcome >= 0.0 && outcome <= 1.0 && mass >= 0.0 && mass < INF, "outcome or mass is invalid.");
    nb::gil_scoped_release release;
    if (mass > 0.0) mixture.learn({first, second, difference.data()}, outcome, mass, tie);
}

DecidingModel deciding_model(const std::string& name) {
    if (name == "likeliest") return DecidingModel::likeliest;
    if (name == "widest") return DecidingModel::widest;
    require(name == "drawn", "Unknown model.");
    return DecidingModel::drawn;
}

// The duel of round t with pending duels counted as observed, and the generator after it. `model` says which of the
// models decides.
std::tuple<i64, i64, WordArray> decide(const ArmEffectsMixture& mixture, const SelectionRule& rule, Integers ids,
                                       Matrix features, bool distinct, const IndexPairs& exclude,
                                       const IndexPairs& pending, Matrix differences, Vector masses,
                                       std::optional<Words> words, i64 t, const std::string& model) {
    Exclusive exclusive(mixture);
    Sfc64 random = words ? generator(*words) : mixture.random;
    const ArmEffectsState& state = mixture.deciding(deciding_model(model), random);
    i64 count = pending.extent(0);
    require(differences.extent(0) == count && masses.extent(0) == count &&
                (count == 0 || differences.extent(1) == state.dim),
            "The pending duels do not match the policy.");
    require(t >= 0 && t <= MAX_ROUNDS, "t is invalid.");
    PairSet excluded = pair_set(exclude, ids.extent(0)), with_pending = excluded;
    if (!rule.reacts_to_pending()) add_pairs(with_pending, ids, pending);
    ArmTable table = table_of(state, ids, features, distinct, &with_pending);
    if (table.n_allowed_pairs() <= 0) table = table_of(state, ids, features, distinct, &excluded);
    for (i64 k = 0; k < count; k++) {
        for (i64 arm : {pending.data()[2 * k], pending.data()[2 * k + 1]}) check_arm(arm);
        double mass = masses.data()[k];
        require(mass >= 0.0 && mass < INF, "The mass of a pending duel is invalid.");
    }
    Decision duel;
    {
        nb::gil_scoped_release release;
        std::optional<ArmEffectsState> expected = state.for_round(table.features, table.n);
        if (count > 0 && !expected) expected = state;
        for (i64 k = 0; k < count; k++) {
            i64 first = pending.data()[2 * k], second = pending.data()[2 * k + 1];
            double mass = masses.data()[k];
            if (mass > 0.0) expected->add_expected({first, second, differences.data() + k * state.dim}, mass);
        }
        duel = rule.decide_with_effects(expected ? *expected : state, random, t, table);
    }
    return {duel.first, duel.second, to_numpy(random)};
}

const ArmEffectsState& model_of(const ArmEffectsMixture& mixture, i64 model) {
    require(model >= 0 && model < static_cast<i64>(mixture.models.size()), "There is no such model.");
    return mixture.models[static_cast<std::size_t>(model)].state;
}

// Utilities of arms by one model relative to an arm with the median of every feature, their variances, covariances of the
// chosen ones with all, and the utility of that arm.
std::tuple<FloatArray, FloatArray, FloatArray, double> posterior(const ArmEffectsMixture& mixture, i64 model,
                                                                 Integers ids, Matrix features, Integers chosen) {
    Exclusive exclusive(mixture);
    const ArmEffectsState& state = model_of(mixture, model);
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
    return {to_numpy(view.u(), {table.n}), to_numpy(view.variance(), {table.n}),
            to_numpy(rows.data(), {count, table.n}), view.level()};
}

// Squared widths of the pairs of an arm with all others.
FloatArray squared_widths(const ArmEffectsMixture& mixture, i64 model, Integers ids, Matrix features, i64 arm) {
    Exclusive exclusive(mixture);
    const ArmEffectsState& state = model_of(mixture, model);
    ArmTable table = table_of(state, ids, features);
    require(arm >= 0 && arm < table.n, "The arm has an invalid position.");
    std::optional<ArmEffectsState> adapted = state.for_round(table.features, table.n);
    std::vector<double> out(static_cast<std::size_t>(table.n));
    ArmEffectsView(adapted ? *adapted : state, table).squared_widths(arm, ArmSubset::all(table.n), out.data());
    return to_numpy(out);
}

// The prior variances of theta in a round with these arms.
FloatArray prior_variances(const ArmEffectsMixture& mixture, i64 model, Matrix features) {
    Exclusive exclusive(mixture);
    const ArmEffectsState& state = model_of(mixture, model);
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

ArrayDict arrays_of(const WeightedArmEffects& model, const TieParameter& ties) {
    const ArmEffectsState& state = model.state;
    std::vector<double> mean, variance, lower_half;
    for (const ArmEffectsState::ArmEffect& effect : state.effects()) {
        mean.push_back(effect.mean);
        variance.push_back(effect.variance);
    }
    for (i64 i = 0; i < state.size(); i++)
        lower_half.insert(lower_half.end(), state.covariance_row(i), state.covariance_row(i) + i + 1);
    i64 block = state.block(), uses = state.uses();
    nb::dict out;
    out["block"] = to_numpy(&block, {1});
    out["uses"] = to_numpy(&uses, {1});
    write_ties(out, ties, state.link);
    out["log_prior"] = to_numpy(&model.log_prior, {1});
    out["log_evidence"] = to_numpy(&state.log_evidence, {1});
    out["effect_variance"] = to_numpy(&state.effect_variance, {1});
    out["feature_variance"] = to_numpy(&state.feature_variance, {1});
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

std::vector<ArrayDict> arrays_of_models(const ArmEffectsMixture& mixture) {
    Exclusive exclusive(mixture);
    std::vector<ArrayDict> out;
    for (const WeightedArmEffects& model : mixture.models) out.push_back(arrays_of(model, mixture.ties));
    return out;
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

ArmEffectsState restore_model(const std::string& link, const nb::dict& arrays) {
    i64 dim = length_of(arrays, "theta"), slots = length_of(arrays, "arms_in_block"), size = dim + slots;
    i64 block = read_array<i64>(arrays, "block", {1})[0], uses = read_array<i64>(arrays, "uses", {1})[0];
    ArmEffectsState state = make_state(link, read_array<double>(arrays, "theta_variance", {dim}),
                                       read_array<double>(arrays, "effect_variance", {1})[0],
                                       read_array<double>(arrays, "feature_variance", {1})[0], block);
    require(slots <= block && uses >= 0 && uses <= MAX_ROUNDS, "The block has too many arms, or 'uses' is invalid.");
    state.log_evidence = read_finite(arrays, "log_evidence", {1})[0];
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

// Models of the same arms and votes, and the words of the generator.
ArmEffectsMixture restore_arm_effects(const std::string& link, const std::vector<ArrayDict>& models, Words words) {
    require(!models.empty(), "There are no models.");
    ArmEffectsMixture mixture;
    mixture.random = generator(words);
    for (const ArrayDict& arrays : models) {
        mixture.models.push_back({read_finite(arrays, "log_prior", {1})[0], restore_model(link, arrays)});
        read_ties(mixture.ties, mixture.models.back().state.link, arrays);
        const ArmEffectsState &first = mixture.models.front().state, &last = mixture.models.back().state;
        require(first.dim == last.dim && first.uses() == last.uses() && first.scale.adaptive == last.scale.adaptive &&
                    first.link == last.link,
                "The models are of different votes.");
    }
    return mixture;
}

}  // namespace

void bind_arm_effects(nb::module_& m) {
    nb::class_<ArmEffectsMixture>(m, "ArmEffectsMixture", "The posterior of a policy with arm effects, by model.")
        .def_prop_ro("dim",
                     [](const ArmEffectsMixture& mixture) {
                         Exclusive exclusive(mixture);
                         return mixture.best().dim;
                     })
        .def_prop_ro("votes",
                     [](const ArmEffectsMixture& mixture) {
                         Exclusive exclusive(mixture);
                         return mixture.best().uses() / 2;
                     })
        .def_prop_ro("best",
                     [](const ArmEffectsMixture& mixture) {
                         Exclusive exclusive(mixture);
                         return mixture.index_of_best();
                     })
        .def_prop_ro("link",
                     [](const ArmEffectsMixture& mixture) {
                         Exclusive exclusive(mixture);
                         return name_of(mixture.best().link);
                     })
        .def_prop_ro(
            "log_weights",
            [](const ArmEffectsMixture& mixture) {
                Exclusive exclusive(mixture);
                std::vector<double> weights;
                for (const WeightedArmEffects& model : mixture.models) weights.push_back(model.log_weight());
                return to_numpy(weights);
            },
            nb::rv_policy::move)
        .def_prop_ro(
            "variances",
            [](const ArmEffectsMixture& mixture) {
                Exclusive exclusive(mixture);
                std::vector<double> variances;
                for (const WeightedArmEffects& model : mixture.models)
                    variances.insert(variances.end(), {model.state.effect_variance, model.state.feature_variance});
                return to_numpy(variances.data(), {static_cast<i64>(mixture.models.size()), 2});
            },
            nb::rv_policy::move)
        .def_prop_ro(
            "theta",
            [](const ArmEffectsMixture& mixture) {
                Exclusive exclusive(mixture);
                return to_numpy(mixture.best().theta);
            },
            nb::rv_policy::move)
        .def_prop_ro(
            "words",
            [](const ArmEffectsMixture& mixture) {
                Exclusive exclusive(mixture);
                return to_numpy(mixture.random);
            },
            nb::rv_policy::move)
        .def(
            "set_words",
            [](ArmEffectsMixture& mixture, Words words) {
                Exclusive exclusive(mixture);
                mixture.random = generator(words);
            },
            "words"_a)
        .def(
            "observe_arms",
            [](ArmEffectsMixture& mixture, Matrix features) {
                Exclusive exclusive(mixture);
                require(features.extent(1) == mixture.best().dim, "The arms do not match the policy.");
                nb::gil_scoped_release release;
                mixture.observe_arms(features.data(), features.extent(0));
            },
            "features"_a)
        .def(
            "set_ties",
            [](ArmEffectsMixture& mixture, const std::vector<double>& numbers) {
                Exclusive exclusive(mixture);
                require(numbers.size() == 5, "Give five numbers.");
                for (WeightedArmEffects& model : mixture.models) set_ties(mixture.ties, model.state.link, numbers);
            },
            "numbers"_a)
        .def("prior_variances", &prior_variances, "model"_a, "features"_a)
        .def("learn", &learn, "first"_a, "second"_a, "difference"_a, "outcome"_a, "mass"_a, "tie"_a = false)
        .def("decide", &decide, "rule"_a, "ids"_a, "features"_a, "distinct"_a, "exclude"_a, "pending"_a,
             "differences"_a, "masses"_a, "words"_a.none(), "t"_a, "model"_a = "likeliest")
        .def("posterior", &posterior, "model"_a, "ids"_a, "features"_a, "chosen"_a)
        .def("squared_widths", &squared_widths, "model"_a, "ids"_a, "features"_a, "arm"_a)
        .def("arrays", &arrays_of_models);
    m.def("new_arm_effects", &new_arm_effects, "link"_a, "features"_a, "candidates"_a, "block"_a, "words"_a);
    m.def("restore_arm_effects", &restore_arm_effects, "link"_a, "models"_a, "words"_a);
}

}  // namespace duelist
