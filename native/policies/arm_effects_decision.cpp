#include "policies/arm_effects_decision.hpp"

namespace duelist {

namespace {

// Positions of all arms, or of those with the largest utility plus two standard deviations.
std::vector<i64> promising_arms(const ArmEffectsView& view) {
    std::vector<double> scores(static_cast<std::size_t>(view.n()));
    for (i64 a = 0; a < view.n(); a++)
        scores[static_cast<std::size_t>(a)] = view.u()[a] + 2.0 * std::sqrt(std::max(view.variance()[a], 0.0));
    return ArmEffectsView::largest(scores.data(), view.n(), MAX_INDICATORS);
}

// The upper factor R of the inverse of a covariance C (n, n): R'R = C^-1. C is replaced.
//
// With the order of arms reversed, Cholesky's C = LL' is C = UU' with an upper factor U, and R is the inverse of U.
AlignedDoubles precision_factor(AlignedDoubles& covariance, i64 n) {
    constexpr double JITTER = 1e-12;  // relative; it makes up for rounding
    AlignedDoubles reversed(n * n), factor(n * n), column(n);
    double largest = 0.0;
    for (i64 k = 0; k < n; k++) largest = std::max(largest, covariance[k * n + k]);
    for (i64 i = 0; i < n; i++)
        for (i64 j = i; j < n; j++) reversed[i * n + j] = covariance[(n - 1 - i) * n + (n - 1 - j)];
    for (i64 k = 0; k < n; k++) reversed[k * n + k] += JITTER * largest;
    if (!kernels->cholesky(reversed.data(), n)) {  // arms count as independent
        for (i64 k = 0; k < n; k++) factor[k * n + k] = 1.0 / std::sqrt(std::max(covariance[k * n + k], JITTER));
        return factor;
    }
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j < n; j++) covariance[i * n + j] = i <= j ? reversed[(n - 1 - j) * n + (n - 1 - i)] : 0.0;
    for (i64 j = 0; j < n; j++) {
        for (i64 i = 0; i < n; i++) column[i] = i == j ? 1.0 : 0.0;
        kernels->solve_upper(covariance.data(), n, column.data());
        for (i64 i = 0; i <= j; i++) factor[i * n + j] = column[i];
    }
    return factor;
}

PairSet excluded_among(const std::vector<i64>& arms, const ArmTable& table) {
    PairSet excluded;
    i64 n = static_cast<i64>(arms.size());
    for (i64 i = 0; table.excluded && i + 1 < n; i++)
        for (i64 j = i + 1; j < n; j++)
            if (table.excluded->has(arms[static_cast<std::size_t>(i)], arms[static_cast<std::size_t>(j)]))
                excluded.add(i, j);
    excluded.seal();
    return excluded;
}

}  // namespace

Decision SelectionRule::decide_with_effects(const ArmEffectsState& known, Sfc64& random, i64 t,
                                            const ArmTable& table) const {
    return decide_by_indicators(*this, known, random, t, table);
}

Decision decide_by_indicators(const SelectionRule& rule, const ArmEffectsState& known, Sfc64& random, i64 t,
                              const ArmTable& table) {
    ArmEffectsView view(known, table);
    std::vector<i64> arms = promising_arms(view);
    i64 n = static_cast<i64>(arms.size());
    PolicyState state(n, known.link, true);
    state.random = random;
    state.rounds = t;
    state.add_layer(1.0, 1.0, 0.0);
    AlignedDoubles covariance(n * n), indicators(n * n);
    for (i64 k = 0; k < n; k++) {
        i64 arm = arms[static_cast<std::size_t>(k)];
        indicators[k * n + k] = 1.0;
        state.layer(0).theta[k] = view.u()[arm];
        view.covariances(arm, ArmSubset::of(arms), covariance.data() + k * n);
    }
    if (!rule.local())
        for (i64 k = 0; k < n * n; k++) covariance[k] *= max_slope(known.link);
    state.layer(0).factor = state.layer(0).curvature = precision_factor(covariance, n);
    PairSet excluded = excluded_among(arms, table);
    Workspace workspace;
    Decision duel =
        rule.decide(state, workspace, {indicators.data(), n, n, table.distinct, excluded.size() ? &excluded : nullptr});
    random = state.random;
    if (duel.first >= 0) {
        duel.first = arms[static_cast<std::size_t>(duel.first)];
        duel.second = arms[static_cast<std::size_t>(duel.second)];
    } else if (n < table.n) {  // all pairs of the promising arms are excluded
        FoundPair pair = uniform_pair(random, table);
        duel = {pair.first, pair.second, 0, 1.0};
    }
    return duel;
}

}  // namespace duelist
