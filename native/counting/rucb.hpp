// RUCB (Zoghi, Whiteson, Munos, de Rijke, ICML 2014, Algorithm 1).
//
// notes: the hypothesized best arm B, -1 for none.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class RUCB : public BoundsRule {
public:
    explicit RUCB(const Settings& settings) : alpha_(settings.number("alpha")) {}

    void join(Ledger& ledger, i64 before) const override {
        if (before == 0) ledger.notes = {-1};  // line 2
    }

    // Lines 7 and 8 of the next round: B stays if it may still be best, and is the only arm that may, if there is one.
    void heard(Ledger& ledger, const Vote&) const override {
        double a = alpha_ * ledger.log_round();
        i64 last = -1, count = 0;
        for (i64 i = 0; i < ledger.n; i++)
            if (ledger.rows[static_cast<std::size_t>(i)] <= a) last = i, count++;
        i64& best = ledger.notes[0];
        if (count == 1) best = last;
        else if (best >= 0 && ledger.rows[static_cast<std::size_t>(best)] > a) best = -1;
    }

    Named decide(const Ledger& ledger, Random& random, const Field& field) const override {
        std::vector<i64> able = field.able();
        if (able.empty()) return {};
        double a = alpha_ * ledger.log_round();
        std::vector<i64> may_win = unbeaten(ledger, able, field, a);  // line 6
        i64 c = may_win.empty() ? one_of(random, able) : champion(random, may_win, ledger.notes[0]);
        return {c, challenger(ledger, random, field.partners(c), c, a)};  // line 13
    }

    bool could_have_written(const Ledger& ledger) const override {
        return ledger.tallies.empty() && has_size(ledger.notes, 1) && ledger.notes[0] >= -1 && ledger.notes[0] < ledger.n;
    }

private:
    double alpha_;

    // Lines 8 to 11: B with chance 1/2, else one of the others.
    static i64 champion(Random& random, std::vector<i64> may_win, i64 best) {
        if (may_win.size() > 1 && holds(may_win, best)) {
            if (random.uniform() < 0.5) return best;
            std::erase(may_win, best);
        }
        return one_of(random, may_win);
    }
};

}  // namespace duelist
