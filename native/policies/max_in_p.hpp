// MaxInP (Saha 2021; Di et al. 2024, section 4.4): the widest pair among the arms that may still be best.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class MaxInP : public Rule {
public:
    explicit MaxInP(const Settings& s) : radius_(s) {}

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        double beta = radius_.flat(state);
        if (scratch.memo.recall(table, beta)) return scratch.memo.last;
        View view = look_at_all(state, scratch, table);
        i64* promising = scratch.remaining.data();  // C_t
        i64 count = undominated(view, beta, promising, scratch);
        kernels->pick_columns(view.v, view.stride, view.dim, promising, count, scratch.near.data(), padded(count));
        View kept{nullptr, scratch.near.data(), count, padded(count), view.dim};
        if (table.limits().free()) {
            FoundPair pair = widest_pair(kept, {}, scratch);
            return scratch.memo.remember({promising[pair.first], promising[pair.second], 0, 1.0});
        }
        FoundPair pair = widest_pair(kept, table.limits(promising), scratch);
        if (pair.first >= 0) return scratch.memo.remember({promising[pair.first], promising[pair.second], 0, 1.0});
        // No pair of promising arms may be asked: one of them meets another arm.
        look_at_all(state, scratch, table);  // the search above may have used its columns
        auto width = [](i64, i64, double square) { return square; };
        pair = best_pair_with(view, membership(promising, count, table.n), table.limits(), scratch, width);
        if (pair.first < 0) pair = widest_pair(view, table.limits(), scratch);
        return scratch.memo.remember({pair.first, pair.second, 0, 1.0});
    }

private:
    RadiusSettings radius_;
};

}  // namespace duelist
