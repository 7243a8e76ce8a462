// LocalPairUCB: the best pair, with widths in the curvature at the estimate and bonuses that know when to stop.
#pragma once

#include "../local_pairs.hpp"
#include "radius_rule.hpp"

namespace duelist {

class LocalPairUCB : public Rule {
public:
    explicit LocalPairUCB(const Settings& s) : radius_(s) {}

    bool local() const override { return true; }

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        double horizon = radius_.horizon_in(state), beta = radius_.factor;
        if (radius_.kind == RadiusKind::theory)
            beta *= log_loss_radius(table.dim, state.rounds, state.bound, std::sqrt(state.units), state.layer(0).ridge,
                                    radius_.delta);
        bool by_shape = radius_.kind == RadiusKind::shape;
        if (scratch.memo.recall(table, by_shape ? horizon : beta)) return scratch.memo.last;
        View view = look_at_all(state, scratch, table, true);
        FoundPair pair = by_shape ? best_local_pair(view, {state.link, 2.0 * beta, horizon}, table.limits(), scratch)
                                  : best_pair(view, beta, table.limits(), scratch);
        return scratch.memo.remember({pair.first, pair.second, 0, 1.0});
    }

private:
    RadiusSettings radius_;
};

}  // namespace duelist
