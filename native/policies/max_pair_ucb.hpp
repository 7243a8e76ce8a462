// MaxPairUCB (Di et al. 2024, sections 4.4 and 6): argmax over pairs of (x + y) . theta + beta |x - y|.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class MaxPairUCB : public Rule {
public:
    explicit MaxPairUCB(const Settings& s) : radius_(s) {}

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        double beta = radius_.flat(state);
        if (scratch.memo.recall(table, beta)) return scratch.memo.last;
        View view = look_at_all(state, scratch, table);
        FoundPair pair = best_pair(view, beta, table.limits(), scratch);
        return scratch.memo.remember({pair.first, pair.second, 0, 1.0});
    }

private:
    RadiusSettings radius_;
};

}  // namespace duelist
