// RankingPair: the comparison that settles most of the order of the arms.
#pragma once

#include "policies/ranking_gain.hpp"
#include "policies/selection_rule.hpp"

namespace duelist {

class RankingPair : public Rule {
public:
    explicit RankingPair(const Settings& s) : top_(s.whole("top")) {}

    bool local() const override { return true; }

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        if (scratch.memo.recall(table, 0.0)) return scratch.memo.last;
        View view = look_at_all(state, scratch, table, true);
        FoundPair pair = most_settling_pair(state.link, view, top_, table);
        return scratch.memo.remember({pair.first, pair.second, 0, 1.0});
    }

    bool takes_own_terms() const override { return true; }

    Decision decide_free(const OwnTerms& known, Random&, i64, const FreeTable& table) const override {
        OwnView view(known, table);
        FoundPair pair = most_settling_pair(view, known.link, top_, table);
        return {pair.first, pair.second, 0, 1.0};
    }

private:
    i64 top_;  // how many places matter; 0: all of them
};

}  // namespace duelist
