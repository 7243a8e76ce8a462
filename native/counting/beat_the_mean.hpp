// Beat the Mean (Yue, Joachims, ICML 2011, Algorithm 1).
//
// notes: of every arm whether it is in W. tallies: of every ordered pair (b, c) the duels in which b met c to measure itself against
// the mean, then how many of them b won; then n_b of every arm, its duels with arms that are in, and w_b, those it won.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class BeatTheMean : public CountingRule {
public:
    explicit BeatTheMean(const Settings& settings) : width_(settings.number("width")), horizon_(settings.number("horizon")) {}

    void join(Ledger& ledger, i64 before) const override {
        auto from = ledger.tallies.begin();
        std::vector<double> met(from, from + before * before), won(from + before * before, from + 2 * before * before);
        met = Ledger::regridded(met, before, ledger.n, 0.0);
        won = Ledger::regridded(won, before, ledger.n, 0.0);
        ledger.tallies = std::move(met);
        ledger.tallies.insert(ledger.tallies.end(), won.begin(), won.end());
        ledger.tallies.resize(static_cast<std::size_t>(2 * ledger.n * (ledger.n + 1)), 0.0);
        ledger.notes.resize(static_cast<std::size_t>(ledger.n), 1);
        for (i64 b = 0; b < ledger.n; b++) sum_up(ledger, b);
    }

    void heard(Ledger& ledger, const Vote& vote) const override {
        std::vector<i64> working = active(ledger);
        if (vote.layer != EXPLORE || working.size() < 2 || !is_in(ledger, vote.first) || !is_in(ledger, vote.second)) return;
        ledger.tallies[ledger.at(vote.first, vote.second)] += vote.weight;
        ledger.tallies[static_cast<std::size_t>(ledger.n * ledger.n) + ledger.at(vote.first, vote.second)] += vote.weight * vote.outcome;
        sum_up(ledger, vote.first);
        double fewest = INF;
        i64 worst = working[0], best = working[0];
        for (i64 b : working) {
            fewest = std::min(fewest, times(ledger, b));
            if (mean(ledger, b) < mean(ledger, worst)) worst = b;
            if (mean(ledger, b) > mean(ledger, best)) best = b;
        }
        double c = fewest > 0.0 ? width_ * std::sqrt(log(2.0 * horizon_ * static_cast<double>(ledger.n)) / fewest) : 1.0;
        if (mean(ledger, worst) + c > mean(ledger, best) - c) return;
        ledger.notes[static_cast<std::size_t>(worst)] = 0;
        for (i64 b = 0; b < ledger.n; b++) sum_up(ledger, b);
    }

    Named decide(const Ledger& ledger, Random& random, const Field& field) const override {
        std::vector<i64> working = active(ledger), present;
        for (i64 b : working)
            if (field.has(b) && field.can_meet(b)) present.push_back(b);
        if (present.empty()) return least_met(ledger, field, EXPLOIT);
        if (working.size() == 1) return beside(ledger, field, working[0], EXPLOIT);
        i64 b = one_of(random, largest(present, [&](i64 arm) { return -times(ledger, arm); }));
        std::vector<i64> partners;
        for (i64 other : field.partners(b))
            if (is_in(ledger, other)) partners.push_back(other);
        if (partners.empty()) return {b, one_of(random, field.partners(b)), EXPLOIT};
        return {b, one_of(random, partners), EXPLORE};
    }

    bool could_have_written(const Ledger& ledger) const override {
        return has_size(ledger.notes, ledger.n) && has_size(ledger.tallies, 2 * ledger.n * (ledger.n + 1)) &&
               flags_only(ledger.notes, 0, ledger.n) && std::count(ledger.notes.begin(), ledger.notes.end(), 1) > 0;
    }

private:
    double width_, horizon_;

    static bool is_in(const Ledger& ledger, i64 b) { return ledger.notes[static_cast<std::size_t>(b)] != 0; }
    static std::vector<i64> active(const Ledger& ledger) {
        std::vector<i64> found;
        for (i64 b = 0; b < ledger.n; b++)
            if (is_in(ledger, b)) found.push_back(b);
        return found;
    }
    static double times(const Ledger& ledger, i64 b) { return ledger.tallies[static_cast<std::size_t>(2 * ledger.n * ledger.n + b)]; }
    static double wins(const Ledger& ledger, i64 b) {
        return ledger.tallies[static_cast<std::size_t>(2 * ledger.n * ledger.n + ledger.n + b)];
    }
    // The share of its duels that b has won, 1/2 before the first.
    static double mean(const Ledger& ledger, i64 b) { return times(ledger, b) > 0.0 ? wins(ledger, b) / times(ledger, b) : 0.5; }
    static void sum_up(Ledger& ledger, i64 b) {
        double met = 0.0, won = 0.0;
        for (i64 c = 0; c < ledger.n; c++)
            if (is_in(ledger, c)) {
                met += ledger.tallies[ledger.at(b, c)];
                won += ledger.tallies[static_cast<std::size_t>(ledger.n * ledger.n) + ledger.at(b, c)];
            }
        ledger.tallies[static_cast<std::size_t>(2 * ledger.n * ledger.n + b)] = met;
        ledger.tallies[static_cast<std::size_t>(2 * ledger.n * ledger.n + ledger.n + b)] = won;
    }
};

}  // namespace duelist
