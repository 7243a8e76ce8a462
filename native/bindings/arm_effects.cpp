// Arms with terms of their own: what is known of them, decisions, and arrays that anybody may have damaged.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/feature_scale.hpp"
#include "search/arm_effects_view.hpp"

namespace duelist {

namespace {

constexpr i64 MAX_DIM = 1 << 14, MAX_BLOCK = 1 << 14;

void check_arm(i64 arm) {
    if (arm < 0 || arm >= MAX_ARM_ID) throw std::invalid_argument("an arm has the number " + std::to_string(arm));
}

ArmEffectsState make_effects(const std::string& link, const std::vector<double>& theta_variance, double effect_variance,
                             i64 block) {
    if (static_cast<i64>(theta_variance.size()) > MAX_DIM) throw std::invalid_argument("there are too many features");
    if (block < 2 || block > MAX_BLOCK) throw std::invalid_argument("a block has from 2 to 2^14 arms");
    for (double v : theta_variance)
        if (!(v >= 0.0 && v < INF)) throw std::invalid_argument("theta_variance holds " + std::to_string(v));
    if (!(effect_variance > 0.0 && effect_variance < INF)) throw std::invalid_argument("own_variance must be positive");
    return ArmEffectsState(link_from_name(link), theta_variance, effect_variance, block);
}

// Before the first vote; the first arms have these features, of which there may be none.
ArmEffectsState new_own_terms(const std::string& link, Matrix features, double effect_variance, i64 block,
                              Words words) {
    ArmEffectsState known = make_effects(link, std::vector<double>(features.shape(1), 0.0), effect_variance, block);
    if (known.dim > 0) {
        if (features.shape(0) == 0) throw std::invalid_argument("there are no arms");
        i64 n = static_cast<i64>(features.shape(0));
        known.scale.begin(features.data(), n, known.dim);
        known.parts = known.dim;
        known.meet(features.data(), n);
    }
    std::copy(words.data(), words.data() + 4, known.random.words.begin());
    return known;
}

ArmTable table_of(const ArmEffectsState& known, const Whole& numbers, const Matrix& features, bool distinct,
                  const PairSet& out) {
    i64 n = static_cast<i64>(numbers.shape(0));
    if (n == 0 || static_cast<i64>(features.shape(0)) != n || static_cast<i64>(features.shape(1)) != known.dim)
        throw std::invalid_argument("the arms do not fit the policy");
    for (i64 k = 0; k < n; k++) check_arm(numbers.data()[k]);
    return {features.data(), n, known.dim, distinct, out.size() ? &out : nullptr, numbers.data()};
}

void learn(ArmEffectsState& known, i64 first, i64 second, Vector difference, double outcome, double mass) {
    check_arm(first);
    check_arm(second);
    if (static_cast<i64>(difference.shape(0)) != known.dim)
        throw std::invalid_argument("the outcome does not fit the policy");
    if (!(outcome >= 0.0 && outcome <= 1.0) || !(mass >= 0.0 && mass < INF))
        throw std::invalid_argument("outcome or mass is not what it may be");
    if (mass > 0.0) known.learn({first, second, difference.data()}, outcome, mass);
}

// The duel of round t, with duels that are out counted as if they were answered, and the generator as it is then.
nb::tuple decide(const ArmEffectsState& known, const SelectionRule& rule, Whole numbers, Matrix features, bool distinct,
                 const Pairs& exclude, const Pairs& out, Matrix differences, Vector masses, std::optional<Words> words,
                 i64 t) {
    i64 count = static_cast<i64>(out.shape(0));
    if (static_cast<i64>(differences.shape(0)) != count || static_cast<i64>(masses.shape(0)) != count ||
        (count > 0 && static_cast<i64>(differences.shape(1)) != known.dim))
        throw std::invalid_argument("pending duels do not fit the policy");
    if (t < 0 || t > MAX_ROUNDS) throw std::invalid_argument("t is " + std::to_string(t));
    PairSet pairs = pair_set(exclude, static_cast<i64>(numbers.shape(0)));
    ArmTable table = table_of(known, numbers, features, distinct, pairs);
    Sfc64 random = known.random;
    if (words) std::copy(words->data(), words->data() + 4, random.words.begin());
    std::optional<ArmEffectsState> ahead = known.seen_by(table.features, table.n);
    if (count > 0 && !ahead) ahead = known;
    for (i64 k = 0; k < count; k++) {
        i64 first = out.data()[2 * k], second = out.data()[2 * k + 1];
        double mass = masses.data()[k];
        check_arm(first);
        check_arm(second);
        if (!(mass >= 0.0 && mass < INF)) throw std::invalid_argument("a pending duel counts " + std::to_string(mass));
        if (mass > 0.0) ahead->expect({first, second, differences.data() + k * known.dim}, mass);
    }
    Decision duel = rule.decide_with_effects(ahead ? *ahead : known, random, t, table);
    return nb::make_tuple(duel.first, duel.second, copied(random.words.data(), {4}));
}

// Utilities and variances of arms, and covariances of the chosen ones with all.
nb::tuple whiten(const ArmEffectsState& known, Whole numbers, Matrix features, Whole chosen) {
    PairSet none;
    ArmTable table = table_of(known, numbers, features, false, none);
    std::optional<ArmEffectsState> seen = known.seen_by(table.features, table.n);
    ArmEffectsView view(seen ? *seen : known, table);
    i64 count = static_cast<i64>(chosen.shape(0));
    std::vector<double> rows(static_cast<std::size_t>(count * table.n));
    for (i64 k = 0; k < count; k++) {
        i64 arm = chosen.data()[k];
        if (arm < 0 || arm >= table.n) throw std::invalid_argument("a chosen arm is not on the table");
        view.covariances(arm, nullptr, table.n, rows.data() + k * table.n);
    }
    std::vector<double> utilities(view.u(), view.u() + table.n);
    for (double& each : utilities) each += view.level();
    return nb::make_tuple(copied(utilities), copied(view.variance(), {table.n}), copied(rows.data(), {count, table.n}));
}

// Squared widths of the pairs of one arm with all.
nb::ndarray<nb::numpy, double> squares(const ArmEffectsState& known, Whole numbers, Matrix features, i64 arm) {
    PairSet none;
    ArmTable table = table_of(known, numbers, features, false, none);
    if (arm < 0 || arm >= table.n) throw std::invalid_argument("the arm is not on the table");
    std::optional<ArmEffectsState> seen = known.seen_by(table.features, table.n);
    std::vector<double> out(static_cast<std::size_t>(table.n));
    ArmEffectsView(seen ? *seen : known, table).squares(arm, nullptr, table.n, out.data());
    return copied(out);
}

// The variance of every entry of theta before the first vote, in a round of these arms.
nb::ndarray<nb::numpy, double> prior_variances(const ArmEffectsState& known, Matrix features) {
    if (features.shape(0) == 0 || static_cast<i64>(features.shape(1)) != known.dim)
        throw std::invalid_argument("the arms do not fit the policy");
    std::optional<ArmEffectsState> seen = known.seen_by(features.data(), static_cast<i64>(features.shape(0)));
    return copied((seen ? *seen : known).theta_variance);
}

void write_early_votes(nb::dict& out, const ArmEffectsState& known) {
    std::vector<i64> arms;
    std::vector<double> told, differences;
    for (const ArmEffectsState::EarlyVote& vote : known.early_votes) {
        arms.insert(arms.end(), {vote.first, vote.second});
        told.insert(told.end(), {vote.outcome, vote.mass});
        differences.insert(differences.end(), vote.difference.begin(), vote.difference.end());
    }
    i64 count = static_cast<i64>(known.early_votes.size());
    out["first_arms"] = copied(arms.data(), {count, 2});
    out["first_told"] = copied(told.data(), {count, 2});
    out["first_differences"] = copied(differences.data(), {count, known.dim});
    i64 more[] = {known.parts, known.has_all_early_votes ? 1 : 0};
    out["more"] = copied(more, {2});
}

nb::dict arrays_of(const ArmEffectsState& known) {
    std::vector<double> mean, variance, lower;
    for (const ArmEffectsState::ArmEffect& term : known.effects()) {
        mean.push_back(term.mean);
        variance.push_back(term.variance);
    }
    for (i64 i = 0; i < known.size(); i++) lower.insert(lower.end(), known.line(i), known.line(i) + i + 1);
    i64 whole[] = {known.block(), known.uses()};
    nb::dict out;
    out["words"] = copied(known.random.words.data(), {4});
    out["whole"] = copied(whole, {2});
    out["own_variance"] = copied(&known.effect_variance, {1});
    out["theta_variance"] = copied(known.theta_variance);
    out["theta"] = copied(known.theta);
    out["mean"] = copied(mean);
    out["variance"] = copied(variance);
    out["arms_in_block"] = copied(known.arms_in_block());
    out["last_uses"] = copied(known.last_uses());
    out["covariance"] = copied(lower);
    if (!known.scale.follow) return out;
    write_feature_scale(out, known.scale, known.dim);
    write_early_votes(out, known);
    return out;
}

i64 length_of(const nb::dict& arrays, const char* name) {
    if (!arrays.contains(name)) throw std::invalid_argument(std::string("there is no ") + name);
    nb::object array = arrays[name];
    return static_cast<i64>(nb::len(array));
}

void read_early_votes(ArmEffectsState& known, const nb::dict& arrays) {
    i64 count = length_of(arrays, "first_arms"), dim = known.dim;
    auto arms = read_array<i64>(arrays, "first_arms", {count, 2});
    auto told = finite(read_array<double>(arrays, "first_told", {count, 2}), "first_told", 0.0);
    auto differences = finite(read_array<double>(arrays, "first_differences", {count, dim}), "first_differences");
    auto more = read_array<i64>(arrays, "more", {2});
    known.parts = more[0];
    known.has_all_early_votes = more[1] != 0;
    if (known.parts < 1 || known.parts > dim) throw std::invalid_argument("more is damaged");
    if (count > 0 && !(known.scale.early() && known.has_all_early_votes))
        throw std::invalid_argument("first votes are kept for too long");
    for (i64 k = 0; k < count; k++) {
        check_arm(arms[2 * k]);
        check_arm(arms[2 * k + 1]);
        if (arms[2 * k] >= arms[2 * k + 1] || told[2 * k] > 1.0) throw std::invalid_argument("a first vote is damaged");
        const double* z = differences.data() + k * dim;
        known.early_votes.push_back({arms[2 * k], arms[2 * k + 1], {z, z + dim}, told[2 * k], told[2 * k + 1]});
    }
}

ArmEffectsState restored(const std::string& link, const nb::dict& arrays) {
    i64 dim = length_of(arrays, "theta"), arms = length_of(arrays, "mean"), slots = length_of(arrays, "arms_in_block");
    auto words = read_array<u64>(arrays, "words", {4});
    auto whole = read_array<i64>(arrays, "whole", {2});
    auto own = read_array<double>(arrays, "own_variance", {1});
    ArmEffectsState known = make_effects(link, read_array<double>(arrays, "theta_variance", {dim}), own[0], whole[0]);
    std::copy(words.begin(), words.end(), known.random.words.begin());
    known.theta = finite(read_array<double>(arrays, "theta", {dim}), "theta");
    auto mean = finite(read_array<double>(arrays, "mean", {arms}), "mean");
    auto variance = finite(read_array<double>(arrays, "variance", {arms}), "variance", 0.0);
    auto in_block = read_array<i64>(arrays, "arms_in_block", {slots}),
         last = read_array<i64>(arrays, "last_uses", {slots});
    i64 size = dim + slots;
    if (arms > MAX_ARM_ID || slots > whole[0] || whole[1] < 0 || whole[1] > MAX_ROUNDS)
        throw std::invalid_argument("there are " + std::to_string(slots) + " arms in a block of " +
                                    std::to_string(whole[0]));
    auto lower = finite(read_array<double>(arrays, "covariance", {size * (size + 1) / 2}), "covariance");
    std::vector<ArmEffectsState::ArmEffect> effects;
    for (i64 a = 0; a < arms; a++) effects.push_back({mean[a], variance[a], -1});
    for (i64 s = 0; s < slots; s++) {
        i64 arm = in_block[s];
        if (arm < 0 || arm >= arms || effects[arm].slot >= 0 || last[s] < 0 || last[s] > whole[1])
            throw std::invalid_argument("place " + std::to_string(s) + " of the block is damaged");
        effects[arm].slot = s;
    }
    for (i64 k = 0; k < size; k++)
        if (lower[k * (k + 3) / 2] < 0.0) throw std::invalid_argument("covariance holds a negative variance");
    known.restore(std::move(effects), std::move(in_block), std::move(last), whole[1], lower);
    if (!arrays.contains("sizes")) return known;  // of an older release, where sizes stayed what the first arms said
    read_feature_scale(known.scale, arrays, dim);
    read_early_votes(known, arrays);
    return known;
}

}  // namespace

void bind_arm_effects(nb::module_& m) {
    nb::class_<ArmEffectsState>(m, "OwnTerms")
        .def_prop_ro("dim", [](const ArmEffectsState& known) { return known.dim; })
        .def_prop_ro("votes", [](const ArmEffectsState& known) { return known.uses() / 2; })
        .def_prop_ro(
            "theta", [](const ArmEffectsState& known) { return copied(known.theta); }, nb::rv_policy::move)
        .def(
            "set_words",
            [](ArmEffectsState& known, Words words) {
                std::copy(words.data(), words.data() + 4, known.random.words.begin());
            },
            "words"_a)
        .def(
            "meet",
            [](ArmEffectsState& known, Matrix features) {
                if (static_cast<i64>(features.shape(1)) != known.dim)
                    throw std::invalid_argument("the arms do not fit the policy");
                known.meet(features.data(), static_cast<i64>(features.shape(0)));
            },
            "features"_a)
        .def("prior_variances", &prior_variances, "features"_a)
        .def("learn", &learn, "first"_a, "second"_a, "difference"_a, "outcome"_a, "mass"_a)
        .def("decide", &decide, "rule"_a, "numbers"_a, "features"_a, "distinct"_a, "exclude"_a, "out"_a,
             "differences"_a, "masses"_a, "words"_a.none(), "t"_a)
        .def("look", &whiten, "numbers"_a, "features"_a, "chosen"_a)
        .def("squares", &squares, "numbers"_a, "features"_a, "arm"_a)
        .def("arrays", &arrays_of);
    m.def("new_own_terms", &new_own_terms, "link"_a, "features"_a, "own_variance"_a, "block"_a, "words"_a);
    m.def("restore_own_terms", &restored, "link"_a, "arrays"_a);
}

}  // namespace duelist
