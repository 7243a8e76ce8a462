// Pending duels, and the pairs of a round that they occupy.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// A pending duel: the features of its two arms (2, dim), and the layer that will learn its outcome with this share.
struct PendingDuel {
    const double* arms;
    i64 layer;
    double share;
};

// Exclude at most this number of pairs. A few arms occupy more only if thousands have the same features, and listing
// these pairs would slow down every decision.
inline constexpr i64 MAX_EXCLUDED = i64{1} << 20;

// The positions of the arms with these features.
inline std::vector<i64> positions_of(const double* features, const ArmTable& table) {
    std::vector<i64> found;
    for (i64 a = 0; a < table.n; a++)
        if (std::equal(features, features + table.dim, table.arm(a))) found.push_back(a);
    return found;
}

// The excluded pairs of a round plus the pending ones, unless these are too many.
inline PairSet excluded_pairs(const ArmTable& table, const std::vector<PendingDuel>& pending) {
    const PairSet excluded = table.excluded ? *table.excluded : PairSet();
    PairSet blocked = excluded;
    i64 left = MAX_EXCLUDED;
    for (const PendingDuel& duel : pending) {
        std::vector<i64> firsts = positions_of(duel.arms, table);
        if (firsts.empty()) continue;
        std::vector<i64> seconds = positions_of(duel.arms + table.dim, table);
        left -= static_cast<i64>(firsts.size() * seconds.size());
        if (left < 0) return excluded;
        for (i64 i : firsts)
            for (i64 j : seconds)
                if (i != j) blocked.add(i, j);
    }
    blocked.seal();
    return blocked;
}

// Decide a duel, excluding pending pairs while there are others.
inline Decision decide_excluding(const std::vector<PendingDuel>& pending, const SelectionRule& rule, PolicyState& state,
                                 Workspace& workspace, const ArmTable& table) {
    if (pending.empty()) return rule.decide(state, workspace, table);
    PairSet blocked = excluded_pairs(table, pending);
    ArmTable others{table.features, table.n, table.dim, table.distinct, &blocked};
    return rule.decide(state, workspace, blocked.size() && others.n_allowed_pairs() > 0 ? others : table);
}

}  // namespace duelist
