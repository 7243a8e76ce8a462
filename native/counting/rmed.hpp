// Relative Minimum Empirical Divergence: RMED1, RMED2 and RMED2FH (Komiyama, Honda, Kashima, Nakagawa, COLT 2015, Algorithm 1).
//
// notes: the phase; of every arm whether it is in L_C, in L_R, in L_N, and its opponent
// b*, -1 while it is not fixed (RMED2FH).
#pragma once

#include <optional>

#include "numerics/beta.hpp"
#include "counting/counting_rule.hpp"

namespace duelist {

class RMED : public CountingRule {
public:
    explicit RMED(const Settings& settings)
        : variant_(static_cast<Variant>(settings.whole("variant"))), alpha_(settings.number("alpha")), weight_(settings.number("weight")),
          power_(settings.number("power")), draws_(settings.number("draws")) {
        if (variant_ < one || variant_ > two_with_horizon) throw std::invalid_argument("there is no such variant of RMED");
    }

    // N_ij d(mu_ij, 1/2) where arm i does not beat j, of which I_i is the sum.
    double of_pair(double won, double lost) const override {
        return won < lost ? (won + lost) * divergence_from_half(won / (won + lost)) : 0.0;
    }
    Kept kept() const override { return Kept::sum; }

    // Arms that come later join the pass, and their pairs are drawn as in the beginning.
    void join(Ledger& ledger, i64 before) const override {
        std::vector<i64> made(static_cast<std::size_t>(1 + 4 * ledger.n), 0);
        made[0] = INITIAL;
        for (i64 part = 0; part < 4; part++)
            for (i64 i = 0; i < ledger.n; i++) {
                i64 fresh = part < 2 ? 1 : part == 2 ? 0 : -1;
                made[static_cast<std::size_t>(1 + part * ledger.n + i)] =
                    i < before ? ledger.notes[static_cast<std::size_t>(1 + part * before + i)] : fresh;
            }
        ledger.notes = std::move(made);
    }

    void heard(Ledger& ledger, const Vote& vote) const override {
        i64& phase = ledger.notes[0];
        if (vote.layer != DRAWN) phase = phase_after(ledger, phase);
        if (vote.layer != DRAWN || !current(ledger)[vote.first]) return;
        current(ledger)[vote.first] = 0;
        remaining(ledger)[vote.first] = 0;
        double least = *std::min_element(ledger.rows.begin(), ledger.rows.end());
        double limit = log(static_cast<double>(ledger.votes)) + exploration(ledger.n);
        for (i64 j = 0; j < ledger.n; j++)
            if (!remaining(ledger)[j] && ledger.rows[static_cast<std::size_t>(j)] - least <= limit) following(ledger)[j] = 1;
        if (std::count(current(ledger), current(ledger) + ledger.n, 1) > 0) return;
        for (i64 j = 0; j < ledger.n; j++) {
            current(ledger)[j] = remaining(ledger)[j] = following(ledger)[j];
            following(ledger)[j] = 0;
        }
        if (phase == PASS && variant_ == two && lacking(ledger, everybody(ledger))) phase = TOPPING_UP;
    }

    Named decide(const Ledger& ledger, Random&, const Field& field) const override {
        if (ledger.notes[0] == INITIAL)
            if (auto pair = undrawn(ledger, field)) return {pair->first, pair->second};
        if (ledger.notes[0] == TOPPING_UP)
            if (auto pair = lacking(ledger, field)) return {pair->first, pair->second};
        i64 best = likeliest(ledger, field);
        if (best < 0) return {};
        i64 l = best;
        for (i64 k = 0; k < field.n; k++) {
            i64 i = field.arms[k];
            if (!current(ledger)[i] || !field.can_meet(i)) continue;
            if (!current(ledger)[l] || i < l) l = i;
        }
        return {l, opponent(ledger, field, l, best), DRAWN};
    }

    bool could_have_written(const Ledger& ledger) const override {
        if (!ledger.tallies.empty() || !has_size(ledger.notes, 1 + 4 * ledger.n) || !flags_only(ledger.notes, 1, 3 * ledger.n) ||
            ledger.notes[0] < INITIAL || ledger.notes[0] > PASS)
            return false;
        for (i64 i = 0; i < ledger.n; i++)
            if (fixed(ledger, i) < -1 || fixed(ledger, i) >= ledger.n) return false;
        return true;
    }

private:
    enum Variant { one = 1, two = 2, two_with_horizon = 3 };
    enum Phase : i64 { INITIAL = 0, TOPPING_UP = 1, PASS = 2 };
    static constexpr i64 DRAWN = 1;  // the layer of draws of a pass; the others only count
    using Pair = std::pair<i64, i64>;

    Variant variant_;
    double alpha_, weight_, power_, draws_;

    static i64* current(Ledger& ledger) { return ledger.notes.data() + 1; }                   // L_C
    static i64* remaining(Ledger& ledger) { return ledger.notes.data() + 1 + ledger.n; }      // L_R
    static i64* following(Ledger& ledger) { return ledger.notes.data() + 1 + 2 * ledger.n; }  // L_N
    static const i64* current(const Ledger& ledger) { return ledger.notes.data() + 1; }
    static i64 fixed(const Ledger& ledger, i64 i) { return ledger.notes[static_cast<std::size_t>(1 + 3 * ledger.n + i)]; }
    static i64& fixed(Ledger& ledger, i64 i) { return ledger.notes[static_cast<std::size_t>(1 + 3 * ledger.n + i)]; }

    // f(K)
    double exploration(i64 arms) const { return weight_ / exp_of_minus_abs(power_ * log(static_cast<double>(arms))); }
    // log log t, 0 before it is positive
    static double log_log(double t) { return t > E ? log(log(t)) : 0.0; }

    static Field everybody(const Ledger& ledger) {
        static thread_local std::vector<i64> all;
        while (static_cast<i64>(all.size()) < ledger.n) all.push_back(static_cast<i64>(all.size()));
        return {all.data(), ledger.n};
    }

    // The first pair that has met less often than so.
    static std::optional<Pair> below(const Ledger& ledger, const Field& field, double times) {
        for (i64 x = 0; x < field.n; x++)
            for (i64 y = x + 1; y < field.n; y++)
                if (ledger.met(field.arms[x], field.arms[y]) < times && field.allows(field.arms[x], field.arms[y]))
                    return Pair(field.arms[x], field.arms[y]);
        return std::nullopt;
    }
    std::optional<Pair> undrawn(const Ledger& ledger, const Field& field) const { return below(ledger, field, draws_); }
    std::optional<Pair> lacking(const Ledger& ledger, const Field& field) const {
        return below(ledger, field, alpha_ * log_log(static_cast<double>(ledger.round())));
    }

    // i*(t): the arm with the least I_i.
    static i64 likeliest(const Ledger& ledger, const Field& field) {
        i64 best = -1;
        for (i64 k = 0; k < field.n; k++) {
            i64 i = field.arms[k];
            double gap = best < 0 ? -1.0 : ledger.rows[static_cast<std::size_t>(i)] - ledger.rows[static_cast<std::size_t>(best)];
            if ((gap < 0.0 || (gap == 0.0 && i < best)) && field.can_meet(i)) best = i;
        }
        return best;
    }

    i64 opponent(const Ledger& ledger, const Field& field, i64 l, i64 best) const {
        if (variant_ != one) {
            i64 b = fixed(ledger, l) >= 0 ? fixed(ledger, l) : cheapest(ledger, l, best);
            double times = log_log(static_cast<double>(ledger.round()));
            bool often = ledger.met(l, best) * times >= ledger.met(l, b);
            if (b != l && ledger.share(l, b) <= 0.5 && often && field.has(b) && field.allows(l, b)) return b;
        }
        bool loses = false;  // whether the set O of arms that l does not beat has anybody
        for (i64 k = 0; k < field.n; k++) loses = loses || (field.arms[k] != l && ledger.share(l, field.arms[k]) <= 0.5);
        bool to_best = best != l && ledger.share(l, best) <= 0.5;
        if ((to_best || !loses) && field.allows(l, best)) return best;
        i64 worst = -1;
        for (i64 j : field.partners(l))
            if (j != l && (worst < 0 || ledger.share(l, j) < ledger.share(l, worst))) worst = j;
        return worst < 0 ? l : worst;
    }

    // b*: the opponent j that costs least for what it tells of arm i, (gap_i + gap_j) / d(mu_ij, 1/2).
    static i64 cheapest(const Ledger& ledger, i64 i, i64 best) {
        constexpr double LEAST_COST = 0.01;  // estimated gaps may be negative
        i64 found = best;
        double least = INF;
        for (i64 j = 0; j < ledger.n; j++) {
            if (j == i || ledger.share(i, j) >= 0.5) continue;
            double cost = std::max(ledger.share(best, i) + ledger.share(best, j) - 1.0, LEAST_COST);
            double ratio = cost / divergence_from_half(ledger.share(i, j));
            if (ratio < least) least = ratio, found = j;
        }
        return found;
    }

    // The phase after a draw that belongs to no pass.
    i64 phase_after(Ledger& ledger, i64 phase) const {
        if (phase == INITIAL && !undrawn(ledger, everybody(ledger))) {
            if (variant_ == two_with_horizon) fix_opponents(ledger);
            phase = variant_ == two ? TOPPING_UP : PASS;
        }
        return phase == TOPPING_UP && !lacking(ledger, everybody(ledger)) ? i64{PASS} : phase;
    }

    void fix_opponents(Ledger& ledger) const {
        i64 best = likeliest(ledger, everybody(ledger));
        for (i64 i = 0; i < ledger.n; i++)
            if (fixed(ledger, i) < 0) fixed(ledger, i) = cheapest(ledger, i, best);
    }
};

}  // namespace duelist
