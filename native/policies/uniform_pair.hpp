// UniformPair: two different arms, uniformly at random.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class UniformPair : public Rule {
public:
    explicit UniformPair(const Settings&) {}

    bool draws() const override { return true; }

    Decision decide(State& state, Scratch&, const Table& table) const override {
        FoundPair pair = uniform_pair(state.random, table);
        return {pair.first, pair.second, 0, 1.0};
    }

    bool takes_own_terms() const override { return true; }

    Decision decide_free(const OwnTerms&, Random& random, i64, const FreeTable& table) const override {
        FoundPair pair = uniform_pair(random, table.positions());
        return {pair.first, pair.second, 0, 1.0};
    }
};

}  // namespace duelist
