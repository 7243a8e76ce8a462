// APO (Das, Chakraborty, Pacchiano, Chowdhury 2024): the pair that is known least.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class APO : public Rule {
public:
    explicit APO(const Settings&) {}

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        if (scratch.memo.recall(table, 0.0)) return scratch.memo.last;
        FoundPair pair = widest_pair(look_at_all(state, scratch, table), table.limits(), scratch);
        return scratch.memo.remember({pair.first, pair.second, 0, 1.0});
    }
};

}  // namespace duelist
