// CCB, Copeland Confidence Bound (Zoghi, Karnin, Whiteson, de Rijke, NeurIPS 2015, Algorithm 1).
//
// notes: the bound L on how often a Copeland winner loses; of every arm whether it is in B; of every pair (i, j) whether j is in B^i.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class CCB : public BoundsRule {
public:
    explicit CCB(const Settings& settings) : alpha_(settings.number("alpha")) {}

    void join(Ledger& ledger, i64) const override { reset(ledger); }

    // Line 7 of the next round: the hypotheses are brought up to date.
    void heard(Ledger& ledger, const Vote&) const override {
        double a = alpha_ * ledger.log_round();
        if (disproved(ledger, a)) reset(ledger);  // A
        Scores scores = scores_of(ledger, everybody(ledger), a);
        remove_losers(ledger, scores, a);  // B
        add_winners(ledger, scores);       // C
    }

    Named decide(const Ledger& ledger, Random& random, const Field& field) const override {
        std::vector<i64> able = field.able();
        if (able.empty()) return {};
        double a = alpha_ * ledger.log_round();
        std::vector<std::pair<i64, i64>> doubted = open_hypotheses(ledger, field, a);
        if (!doubted.empty() && random.uniform() < 0.25) {  // line 8
            auto [i, j] = doubted[static_cast<std::size_t>(random.below(static_cast<i64>(doubted.size())))];
            return {i, j};
        }
        std::vector<i64> present(field.arms, field.arms + field.n);
        Scores scores = scores_of(ledger, present, a);
        std::vector<i64> best = largest(able, [&](i64 i) { return static_cast<double>(scores.upper[static_cast<std::size_t>(i)]); });
        std::vector<i64> believed;
        for (i64 i : best)
            if (in_b(ledger, i)) believed.push_back(i);
        if (!believed.empty() && random.uniform() < 2.0 / 3.0) best = believed;  // line 9
        i64 c = one_of(random, best);                                            // line 10
        return {c, opponent(ledger, random, field, c, a)};                       // lines 11 and 12
    }

    bool could_have_written(const Ledger& ledger) const override {
        return ledger.tallies.empty() && has_size(ledger.notes, 1 + ledger.n + ledger.n * ledger.n) && ledger.notes[0] >= 0 &&
               ledger.notes[0] <= ledger.n && flags_only(ledger.notes, 1, ledger.n + ledger.n * ledger.n);
    }

private:
    double alpha_;

    struct Scores {
        std::vector<i64> upper, lower;  // of the Copeland score, by arm
    };

    static i64& losses(Ledger& ledger) { return ledger.notes[0]; }
    static i64& in_b(Ledger& ledger, i64 i) { return ledger.notes[static_cast<std::size_t>(1 + i)]; }
    static bool in_b(const Ledger& ledger, i64 i) { return ledger.notes[static_cast<std::size_t>(1 + i)] != 0; }
    static i64* beaten_by(Ledger& ledger, i64 i) { return ledger.notes.data() + 1 + ledger.n + i * ledger.n; }  // B^i
    static const i64* beaten_by(const Ledger& ledger, i64 i) { return ledger.notes.data() + 1 + ledger.n + i * ledger.n; }
    static i64 size_of(const Ledger& ledger, i64 i) {
        const i64* set = beaten_by(ledger, i);
        return std::count(set, set + ledger.n, 1);
    }
    static std::vector<i64> everybody(const Ledger& ledger) {
        std::vector<i64> all;
        for (i64 i = 0; i < ledger.n; i++) all.push_back(i);
        return all;
    }

    static void reset(Ledger& ledger) {
        ledger.notes.assign(static_cast<std::size_t>(1 + ledger.n + ledger.n * ledger.n), 0);
        losses(ledger) = ledger.n;
        for (i64 i = 0; i < ledger.n; i++) in_b(ledger, i) = 1;
    }

    static Scores scores_of(const Ledger& ledger, const std::vector<i64>& arms, double a) {
        Scores scores{std::vector<i64>(static_cast<std::size_t>(ledger.n), 0), std::vector<i64>(static_cast<std::size_t>(ledger.n), 0)};
        for (i64 i : arms)
            for (i64 j : arms)
                if (i != j) {
                    scores.upper[static_cast<std::size_t>(i)] += may_beat(ledger, i, j, a);
                    scores.lower[static_cast<std::size_t>(i)] += beats(ledger, i, j, a);
                }
        return scores;
    }

    // Whether some i beats for sure an arm of which it was thought to lose to it.
    static bool disproved(const Ledger& ledger, double a) {
        for (i64 i = 0; i < ledger.n; i++)
            for (i64 j = 0; j < ledger.n; j++)
                if (beaten_by(ledger, i)[j] && beats(ledger, i, j, a)) return true;
        return false;
    }

    static void remove_losers(Ledger& ledger, const Scores& scores, double a) {
        i64 most = *std::max_element(scores.lower.begin(), scores.lower.end()), left = 0;
        for (i64 i = 0; i < ledger.n; i++) {
            if (!in_b(ledger, i)) continue;
            if (scores.upper[static_cast<std::size_t>(i)] >= most) {
                left++;
                continue;
            }
            in_b(ledger, i) = 0;
            if (size_of(ledger, i) != losses(ledger) + 1)
                for (i64 j = 0; j < ledger.n; j++) beaten_by(ledger, i)[j] = i != j && !may_beat(ledger, i, j, a);
        }
        if (left == 0) reset(ledger);
    }

    void add_winners(Ledger& ledger, const Scores& scores) const {
        i64 most = *std::max_element(scores.upper.begin(), scores.upper.end());
        for (i64 i = 0; i < ledger.n; i++) {
            i64 upper = scores.upper[static_cast<std::size_t>(i)];
            if (upper != most || upper != scores.lower[static_cast<std::size_t>(i)]) continue;
            in_b(ledger, i) = 1;
            std::fill(beaten_by(ledger, i), beaten_by(ledger, i) + ledger.n, 0);
            losses(ledger) = ledger.n - 1 - upper;
            for (i64 j = 0; j < ledger.n; j++)
                if (j != i) shorten(ledger, j, losses(ledger) + 1);
        }
    }

    // B^j has `size` members, chosen by chance where it had more, or none.
    static void shorten(Ledger& ledger, i64 j, i64 size) {
        i64* set = beaten_by(ledger, j);
        std::vector<i64> members;
        for (i64 k = 0; k < ledger.n; k++)
            if (set[k]) members.push_back(k);
        if (static_cast<i64>(members.size()) < size) std::fill(set, set + ledger.n, 0);
        while (static_cast<i64>(members.size()) > size) {
            i64 k = ledger.random.below(static_cast<i64>(members.size()));
            set[members[static_cast<std::size_t>(k)]] = 0;
            members.erase(members.begin() + k);
        }
    }

    // Pairs (i, j), j in B^i, that are not decided.
    static std::vector<std::pair<i64, i64>> open_hypotheses(const Ledger& ledger, const Field& field, double a) {
        std::vector<std::pair<i64, i64>> found;
        for (i64 x = 0; x < field.n; x++)
            for (i64 y = 0; y < field.n; y++) {
                i64 i = field.arms[x], j = field.arms[y];
                if (i != j && beaten_by(ledger, i)[j] && may_beat(ledger, i, j, a) && may_beat(ledger, j, i, a) && field.allows(i, j))
                    found.push_back({i, j});
            }
        return found;
    }

    static i64 opponent(const Ledger& ledger, Random& random, const Field& field, i64 c, double a) {
        std::vector<i64> partners = field.partners(c), open, of_b;
        for (i64 j : partners)
            if (may_beat(ledger, c, j, a)) {  // l_jc <= 1/2
                open.push_back(j);
                if (beaten_by(ledger, c)[j]) of_b.push_back(j);
            }
        bool from_b = random.uniform() < 0.5;
        if (from_b && !of_b.empty()) open = of_b;
        return challenger(ledger, random, open.empty() ? partners : open, c, a);
    }
};

}  // namespace duelist
