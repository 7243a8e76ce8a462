// The rule of a policy that knows arms by who they are and counts wins.
//
// What it knows moves when a vote is learned, never when it is asked: `decide` reads, and draws random numbers. So votes may come late
// and in any order, and what is known is a function of the votes.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "policies/selection_rule.hpp"
#include "counting/counting_state.hpp"

namespace duelist {

class CountingRule {
public:
    virtual ~CountingRule() = default;

    // Arms from number `before` on are new.
    virtual void join(Ledger&, i64) const {}

    // A vote, which is counted already.
    virtual void heard(Ledger&, const Vote&) const {}

    // The duel of round `ledger.round()`.
    virtual Named decide(const Ledger& ledger, Random& random, const Field& field) const = 0;

    // The outcome that a duel is taken to have while it is out, when those before it have theirs: the share that its first arm has won so far.
    virtual double foretold(const Ledger&, const Named&, double share) const { return share; }

    // Whether these are notes that the rule could have written; data from a disk may hold anything.
    virtual bool could_have_written(const Ledger& ledger) const { return ledger.notes.empty() && ledger.tallies.empty(); }

    // A number kept for every ordered pair, of its wins and losses alone.
    virtual double of_pair(double, double) const { return 0.0; }
    // What is kept for every arm of the numbers of its pairs: the largest, their sum, or nothing at all.
    enum class Kept { nothing, largest, sum };
    virtual Kept kept() const { return Kept::nothing; }

    void meet(Ledger& ledger, i64 arms) const {
        i64 before = ledger.n;
        if (arms <= before) return;
        ledger.grow(arms);
        rebuild(ledger);
        join(ledger, before);
    }

    void hear(Ledger& ledger, const Vote& vote) const {
        ledger.count(vote);
        if (kept() != Kept::nothing && vote.first != vote.second) {
            keep(ledger, vote.first, vote.second);
            keep(ledger, vote.second, vote.first);
            sum_up(ledger, vote.first);
            sum_up(ledger, vote.second);
        }
        heard(ledger, vote);
    }

    void rebuild(Ledger& ledger) const {
        if (kept() == Kept::nothing) return;
        ledger.pairs.assign(static_cast<std::size_t>(ledger.n * ledger.n), 0.0);
        ledger.rows.assign(static_cast<std::size_t>(ledger.n), 0.0);
        for (i64 i = 0; i < ledger.n; i++) {
            for (i64 j = 0; j < ledger.n; j++)
                if (i != j) keep(ledger, i, j);
            sum_up(ledger, i);
        }
    }

private:
    void keep(Ledger& ledger, i64 i, i64 j) const {
        ledger.pairs[ledger.at(i, j)] = of_pair(ledger.won(i, j), ledger.won(j, i));
    }
    void sum_up(Ledger& ledger, i64 i) const {
        const double* row = ledger.pairs.data() + i * ledger.n;
        double whole = 0.0;
        if (kept() == Kept::largest)
            for (i64 j = 0; j < ledger.n; j++) whole = row[j] > whole ? row[j] : whole;
        else
            for (i64 j = 0; j < ledger.n; j++) whole += row[j];
        ledger.rows[static_cast<std::size_t>(i)] = whole;
    }
};

std::unique_ptr<CountingRule> make_counting_rule(const std::string& policy, const Settings& settings);
std::vector<std::string> counting_rule_names();

// -- notes -------------------------------------------------------------------------------------

inline bool flags_only(const std::vector<i64>& notes, i64 from, i64 count) {
    for (i64 k = from; k < from + count; k++)
        if (notes[static_cast<std::size_t>(k)] != 0 && notes[static_cast<std::size_t>(k)] != 1) return false;
    return true;
}

inline bool has_size(const std::vector<i64>& notes, i64 size) { return static_cast<i64>(notes.size()) == size; }
inline bool has_size(const std::vector<double>& tallies, i64 size) { return static_cast<i64>(tallies.size()) == size; }

// -- confidence bounds -------------------------------------------------------------------------

// Relative confidence bounds, u_ij = w_ij / n_ij + sqrt(a / n_ij) with a = alpha log t, 2 where i and j never met, 1/2 for i = j; and
// l_ij = 1 - u_ji. Whether u_ij >= 1/2 is asked of all pairs in every round. It is the same as a >= n_ij (1/2 - w_ij / n_ij)^2 for an
// arm that has lost more than won: that number, the deficit, is kept, so that only what has changed is computed again.
class BoundsRule : public CountingRule {
public:
    double of_pair(double won, double lost) const override {
        return won < lost ? (lost - won) * (lost - won) / (4.0 * (won + lost)) : 0.0;
    }
    Kept kept() const override { return Kept::largest; }

protected:
    // u_ij >= 1/2
    static bool may_beat(const Ledger& ledger, i64 i, i64 j, double a) { return ledger.pairs[ledger.at(i, j)] <= a; }
    // l_ij >= 1/2: i beats j for sure
    static bool beats(const Ledger& ledger, i64 i, i64 j, double a) {
        double lead = ledger.pairs[ledger.at(j, i)];
        return lead > 0.0 && lead >= a;
    }
    static double upper(const Ledger& ledger, i64 i, i64 j, double a) {
        if (i == j) return 0.5;
        double met = ledger.met(i, j);
        return met > 0.0 ? ledger.won(i, j) / met + std::sqrt(a / met) : 2.0;
    }
    // Arms that may beat all others on the table.
    static std::vector<i64> unbeaten(const Ledger& ledger, const std::vector<i64>& among, const Field& field, double a) {
        std::vector<i64> found;
        for (i64 i : among) {
            bool whole = ledger.rows[static_cast<std::size_t>(i)] <= a;
            if (!whole && field.n < ledger.n) {  // who beats it may have left
                whole = true;
                for (i64 k = 0; k < field.n && whole; k++) whole = may_beat(ledger, i, field.arms[k], a);
            }
            if (whole) found.push_back(i);
        }
        return found;
    }
    // argmax of u_jc over these arms, ties by chance; not c itself where it ties with others.
    static i64 challenger(const Ledger& ledger, Random& random, const std::vector<i64>& among, i64 c, double a) {
        std::vector<i64> best = largest(among, [&](i64 j) { return upper(ledger, j, c, a); });
        if (best.size() > 1) std::erase(best, c);
        return one_of(random, best);
    }
};

}  // namespace duelist
