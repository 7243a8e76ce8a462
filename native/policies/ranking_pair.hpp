// RankingPair: the comparison with the largest expected gain for the ranking.
#pragma once

#include "policies/ranking_gain.hpp"
#include "policies/selection_rule.hpp"

namespace duelist {

class RankingPair : public SelectionRule {
public:
    explicit RankingPair(const Hyperparameters& s) : top_(s.whole("top")) {}

    bool local() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.hit(table, 0.0)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table, true);
        FoundPair pair = best_ranking_pair(state.link, view, top_, table);
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }

    bool supports_arm_effects() const override { return true; }

    Decision decide_with_effects(const ArmEffectsState& known, Sfc64&, i64, const ArmTable& table) const override {
        ArmEffectsView view(known, table);
        FoundPair pair = best_ranking_pair(view, known.link, top_, table);
        return {pair.first, pair.second, 0, 1.0};
    }

private:
    i64 top_;  // number of ranks that matter; 0: all
};

}  // namespace duelist
