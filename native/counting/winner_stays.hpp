// Winner Stays for weak regret, WS-W, and for strong regret, WS-S (Chen, Frazier, ICML 2017).
//
// tallies: q of every arm, duels won minus duels lost; WS-S: and beta^l.
// notes: the two arms of the last duel, -1 before it; WS-S: and the round l, how many duels of exploitation are left, and of which arm.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class WSW : public CountingRule {
public:
    explicit WSW(const Settings&) {}

    void join(Ledger& ledger, i64 before) const override {
        if (before == 0) ledger.notes = {-1, -1};
        ledger.tallies.resize(static_cast<std::size_t>(ledger.n), 0.0);
    }

    void heard(Ledger& ledger, const Vote& vote) const override { note(ledger, vote); }

    // Whoever is ahead wins, of equals the first: a share that is level moves nobody, and the next rater would be given the same pair.
    double foretold(const Ledger& ledger, const Named& duel, double) const override {
        auto q = [&](i64 arm) { return ledger.tallies[static_cast<std::size_t>(arm)]; };
        return q(duel.first) >= q(duel.second) ? 1.0 : 0.0;
    }

    Named decide(const Ledger& ledger, Random& random, const Field& field) const override {
        std::vector<i64> able = field.able();
        if (able.empty()) return {};
        i64 first = leader(ledger, random, able);
        std::vector<i64> partners = field.partners(first);
        if (partners.size() > 1) std::erase(partners, first);
        return {first, leader(ledger, random, partners)};
    }

    bool could_have_written(const Ledger& ledger) const override {
        return has_size(ledger.notes, 2) && has_size(ledger.tallies, ledger.n) && arms_or_none(ledger);
    }

protected:
    static bool arms_or_none(const Ledger& ledger) {
        return ledger.notes[0] >= -1 && ledger.notes[0] < ledger.n && ledger.notes[1] >= -1 && ledger.notes[1] < ledger.n;
    }

    static void note(Ledger& ledger, const Vote& vote) {
        if (vote.first == vote.second) return;
        double lead = vote.weight * (2.0 * vote.outcome - 1.0);
        ledger.tallies[static_cast<std::size_t>(vote.first)] += lead;
        ledger.tallies[static_cast<std::size_t>(vote.second)] -= lead;
        ledger.notes[0] = vote.first;
        ledger.notes[1] = vote.second;
    }

    // argmax of q; of equals the first arm of the last duel, else the second, else one by chance.
    static i64 leader(const Ledger& ledger, Random& random, const std::vector<i64>& among) {
        std::vector<i64> best = largest(among, [&](i64 i) { return ledger.tallies[static_cast<std::size_t>(i)]; });
        if (holds(best, ledger.notes[0])) return ledger.notes[0];
        if (holds(best, ledger.notes[1])) return ledger.notes[1];
        return one_of(random, best);
    }
};

class WSS : public WSW {
public:
    explicit WSS(const Settings& settings) : WSW(settings), beta_(settings.number("beta")) {
        if (!(beta_ > 1.0)) throw std::invalid_argument("beta is not above 1");
    }

    void join(Ledger& ledger, i64 before) const override {
        double power = before == 0 ? std::min(beta_, static_cast<double>(MOST_ROUNDS)) : ledger.tallies.back();
        if (before == 0) ledger.notes = {-1, -1, 1, 0, -1};
        ledger.tallies.resize(static_cast<std::size_t>(before));
        ledger.tallies.resize(static_cast<std::size_t>(ledger.n), 0.0);
        ledger.tallies.push_back(power);
    }

    void heard(Ledger& ledger, const Vote& vote) const override {
        i64 &l = ledger.notes[2], &left = ledger.notes[3], &best = ledger.notes[4];
        if (vote.layer == EXPLOIT) {
            left = std::max<i64>(left - 1, 0);
            return;
        }
        note(ledger, vote);
        if (left > 0 || !round_is_over(ledger, l)) return;
        auto q = ledger.tallies.begin();
        best = std::max_element(q, q + ledger.n) - q;
        double& power = ledger.tallies.back();
        left = static_cast<i64>(std::min(power, static_cast<double>(MOST_ROUNDS)));
        power = std::min(power * beta_, static_cast<double>(MOST_ROUNDS));
        l++;
    }

    Named decide(const Ledger& ledger, Random& random, const Field& field) const override {
        i64 best = ledger.notes[4];
        if (ledger.notes[3] > 0 && field.has(best) && field.can_meet(best)) return beside(ledger, field, best, EXPLOIT);
        return WSW::decide(ledger, random, field);
    }

    bool could_have_written(const Ledger& ledger) const override {
        constexpr double MOST = static_cast<double>(MOST_ROUNDS);
        if (!has_size(ledger.notes, 5) || !has_size(ledger.tallies, ledger.n + 1) || !arms_or_none(ledger)) return false;
        i64 l = ledger.notes[2], left = ledger.notes[3], best = ledger.notes[4];
        double power = ledger.tallies.back();
        return l >= 1 && l <= MOST_ROUNDS && left >= 0 && best >= -1 && best < ledger.n && (left == 0 || best >= 0) && power >= 1.0 &&
               power <= MOST;
    }

private:
    double beta_;

    // At the end of round l all arms but one have q = -l.
    static bool round_is_over(const Ledger& ledger, i64 l) {
        auto q = ledger.tallies.begin();
        return std::count_if(q, q + ledger.n, [l](double lead) { return lead > -static_cast<double>(l); }) <= 1;
    }
};

}  // namespace duelist
