// GreedyChallenger (Di et al. 2024, equation colstim_sel): the arm that looks best, and its strongest challenger.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class GreedyChallenger : public Rule {
public:
    explicit GreedyChallenger(const Settings& s) : radius_(s) {}

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        double beta = radius_.flat(state);
        if (scratch.memo.recall(table, beta)) return scratch.memo.last;
        View view = look_at_all(state, scratch, table);
        Listed everyone{nullptr, table.n};
        i64 first = best_first(view.u, everyone, table, everyone);
        if (first < 0) return {-1, -1, 0, 0.0};
        return scratch.memo.remember({first, challenger(view, first, 2.0 * beta, table.limits(), scratch), 0, 1.0});
    }

private:
    RadiusSettings radius_;
};

}  // namespace duelist
