// Successive elimination on Borda scores: the Borda reduction (Jamieson, Katariya, Deshpande, Nowak, AISTATS 2015) of successive
// elimination (Even-Dar, Mannor, Mansour, JMLR 2006).
//
// notes: of every arm whether it is in. tallies: of every arm how often it was tried, then how often it won.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class BordaElimination : public CountingRule {
public:
    explicit BordaElimination(const Settings& settings) : delta_(settings.number("delta")) {}

    void join(Ledger& ledger, i64 before) const override {
        ledger.notes.resize(static_cast<std::size_t>(ledger.n), 1);
        std::vector<double> made(static_cast<std::size_t>(2 * ledger.n), 0.0);
        for (i64 i = 0; i < before; i++) {
            made[static_cast<std::size_t>(i)] = ledger.tallies[static_cast<std::size_t>(i)];
            made[static_cast<std::size_t>(ledger.n + i)] = ledger.tallies[static_cast<std::size_t>(before + i)];
        }
        ledger.tallies = std::move(made);
    }

    void heard(Ledger& ledger, const Vote& vote) const override {
        if (vote.layer != EXPLORE || vote.first == vote.second || !is_in(ledger, vote.first)) return;
        ledger.tallies[static_cast<std::size_t>(vote.first)] += vote.weight;
        ledger.tallies[static_cast<std::size_t>(ledger.n + vote.first)] += vote.weight * vote.outcome;
        double floor = -INF;  // the largest lower bound
        for (i64 i = 0; i < ledger.n; i++)
            if (is_in(ledger, i)) floor = std::max(floor, share(ledger, i) - radius(ledger, i));
        for (i64 i = 0; i < ledger.n; i++)
            if (is_in(ledger, i) && share(ledger, i) + radius(ledger, i) < floor) ledger.notes[static_cast<std::size_t>(i)] = 0;
    }

    Named decide(const Ledger& ledger, Random& random, const Field& field) const override {
        i64 next = -1, count = 0;
        for (i64 i = 0; i < ledger.n; i++) count += is_in(ledger, i);
        for (i64 k = 0; k < field.n; k++) {
            i64 i = field.arms[k];
            if (!is_in(ledger, i) || !field.can_meet(i)) continue;
            double fewer = next < 0 ? 1.0 : tried(ledger, next) - tried(ledger, i);
            if (fewer > 0.0 || (fewer == 0.0 && i < next)) next = i;
        }
        if (next < 0) return least_met(ledger, field, EXPLOIT);
        if (count == 1) return beside(ledger, field, next, EXPLOIT);
        std::vector<i64> others = field.partners(next);
        std::erase(others, next);
        if (others.empty()) return {next, next, EXPLOIT};
        return {next, one_of(random, others), EXPLORE};
    }

    bool could_have_written(const Ledger& ledger) const override {
        return has_size(ledger.notes, ledger.n) && has_size(ledger.tallies, 2 * ledger.n) && flags_only(ledger.notes, 0, ledger.n) &&
               std::count(ledger.notes.begin(), ledger.notes.end(), 1) > 0;
    }

private:
    double delta_;

    static bool is_in(const Ledger& ledger, i64 i) { return ledger.notes[static_cast<std::size_t>(i)] != 0; }
    static double tried(const Ledger& ledger, i64 i) { return ledger.tallies[static_cast<std::size_t>(i)]; }
    static double share(const Ledger& ledger, i64 i) {
        return tried(ledger, i) > 0.0 ? ledger.tallies[static_cast<std::size_t>(ledger.n + i)] / tried(ledger, i) : 0.5;
    }
    // sqrt(log(4 K n^2 / delta) / (2 n)): Hoeffding's inequality for all arms and all n at once.
    double radius(const Ledger& ledger, i64 i) const {
        double n = tried(ledger, i);
        return n > 0.0 ? std::sqrt(std::max(log(4.0 * static_cast<double>(ledger.n) * n * n / delta_), 0.0) / (2.0 * n)) : INF;
    }
};

}  // namespace duelist
