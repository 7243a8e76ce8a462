// MergeRUCB (Zoghi, Whiteson, de Rijke, WSDM 2015, Algorithm 1) and MergeDTS (Li, Markov, de Rijke, Zoghi, TOIS 2020, Algorithm 1):
// arms duel within small batches, losers leave, and batches are merged as they shrink.
//
// notes: the stage S from 1, the number of batches, the batch of the next round, and of every arm its batch, -1 once it is out.
#pragma once

#include "numerics/beta.hpp"
#include "counting/counting_rule.hpp"

namespace duelist {

class MergeRule : public CountingRule {
public:
    explicit MergeRule(const Settings& settings)
        : alpha_(settings.number("alpha")), delta_(settings.number("delta")), size_(settings.whole("batch_size")) {
        if (size_ < 2 || !(alpha_ > 0.5) || !(delta_ > 0.0)) throw std::invalid_argument("batches, alpha or delta are too small");
    }

    // Batches by chance in the beginning; an arm that comes later joins the smallest.
    void join(Ledger& ledger, i64 before) const override {
        if (before == 0) ledger.notes = {1, 0, 0};
        ledger.notes.resize(static_cast<std::size_t>(3 + ledger.n), -1);
        if (before == 0) {
            std::vector<i64> order;
            for (i64 i = 0; i < ledger.n; i++) order.push_back(i);
            for (i64 i = ledger.n - 1; i > 0; i--) {
                i64 other = ledger.random.below(i + 1);
                std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(other)]);
            }
            for (i64 k = 0; k < ledger.n; k++) batch_of(ledger, order[static_cast<std::size_t>(k)]) = k / size_;
            ledger.notes[1] = (ledger.n + size_ - 1) / size_;
        } else {
            for (i64 i = before; i < ledger.n; i++) {
                std::vector<i64> sizes = sizes_of(ledger);
                batch_of(ledger, i) = std::min_element(sizes.begin(), sizes.end()) - sizes.begin();
            }
        }
        settle(ledger);
    }

    void heard(Ledger& ledger, const Vote&) const override { settle(ledger); }

    Named decide(const Ledger& ledger, Random& random, const Field& field) const override {
        std::vector<i64> left, here;
        for (i64 k = 0; k < field.n; k++) {
            i64 i = field.arms[k];
            if (batch_of(ledger, i) < 0 || !field.can_meet(i)) continue;
            left.push_back(i);
            if (batch_of(ledger, i) == turn(ledger)) here.push_back(i);
        }
        if (left.empty()) return least_met(ledger, field, EXPLOIT);
        if (survivors(ledger) == 1) return beside(ledger, field, left[0], EXPLOIT);
        if (here.size() < 2) here = left;
        i64 c = champion(ledger, random, here);
        std::vector<i64> rivals;
        for (i64 j : here)
            if (j != c && field.allows(c, j)) rivals.push_back(j);
        if (rivals.empty()) {  // those of its batch are out with somebody, or not on the table
            rivals = field.partners(c);
            if (rivals.size() > 1) std::erase(rivals, c);
        }
        return {c, rivals.size() == 1 ? rivals[0] : rival(ledger, random, rivals, c), EXPLORE};
    }

    bool could_have_written(const Ledger& ledger) const override {
        if (!ledger.tallies.empty() || !has_size(ledger.notes, 3 + ledger.n) || ledger.notes[0] < 1 ||
            ledger.notes[0] > MOST_ROUNDS || ledger.notes[1] < 1 ||
            ledger.notes[1] > ledger.n || ledger.notes[2] < 0 || ledger.notes[2] >= ledger.notes[1])
            return false;
        for (i64 i = 0; i < ledger.n; i++)
            if (batch_of(ledger, i) < -1 || batch_of(ledger, i) >= ledger.notes[1]) return false;
        std::vector<i64> sizes = sizes_of(ledger);
        return std::find(sizes.begin(), sizes.end(), 0) == sizes.end();
    }

protected:
    virtual i64 champion(const Ledger& ledger, Random& random, const std::vector<i64>& batch) const = 0;
    virtual i64 rival(const Ledger& ledger, Random& random, const std::vector<i64>& rivals, i64 c) const = 0;

    // u_ij with a = alpha log(t + C), C = ((4 alpha - 1) K^2 / ((2 alpha - 1) delta))^(1 / (2 alpha - 1)).
    double upper(const Ledger& ledger, i64 i, i64 j) const {
        double met = ledger.met(i, j);
        return met > 0.0 ? ledger.won(i, j) / met + std::sqrt(bonus(ledger) / met) : 2.0;
    }
    static double sample(const Ledger& ledger, Random& random, i64 i, i64 j) {
        return beta(random, ledger.won(i, j) + 1.0, ledger.won(j, i) + 1.0);
    }

private:
    double alpha_, delta_;
    i64 size_;

    static i64 turn(const Ledger& ledger) { return ledger.notes[2]; }
    static i64& batch_of(Ledger& ledger, i64 i) { return ledger.notes[static_cast<std::size_t>(3 + i)]; }
    static i64 batch_of(const Ledger& ledger, i64 i) { return ledger.notes[static_cast<std::size_t>(3 + i)]; }
    static std::vector<i64> sizes_of(const Ledger& ledger) {
        std::vector<i64> sizes(static_cast<std::size_t>(ledger.notes[1]), 0);
        for (i64 i = 0; i < ledger.n; i++)
            if (batch_of(ledger, i) >= 0) sizes[static_cast<std::size_t>(batch_of(ledger, i))]++;
        return sizes;
    }
    static i64 survivors(const Ledger& ledger) {
        return std::count_if(ledger.notes.begin() + 3, ledger.notes.end(), [](i64 batch) { return batch >= 0; });
    }

    double bonus(const Ledger& ledger) const {
        double arms = static_cast<double>(ledger.n), rate = 2.0 * alpha_ - 1.0;
        double shift = log((4.0 * alpha_ - 1.0) * arms * arms / (rate * delta_)) / rate;  // log C, which is positive
        return alpha_ * (shift + log1p(static_cast<double>(ledger.round()) * exp_of_minus_abs(shift)));
    }

    // What comes before the choice of round t: batches are merged at the end of a stage, that of the round loses its losers, and
    // one that has a single arm left joins the next.
    void settle(Ledger& ledger) const {
        i64 &stage = ledger.notes[0], &batches = ledger.notes[1];
        double few = static_cast<double>(ledger.n) / power_of_two(std::min<i64>(stage, 60));
        if (batches > 1 && static_cast<double>(survivors(ledger)) <= few) {
            merge_all(ledger);
            std::vector<i64> sizes = sizes_of(ledger);
            if (2 * *std::min_element(sizes.begin(), sizes.end()) <= size_) merge_all(ledger);
            stage++;
        }
        ledger.notes[2] = ledger.round() % batches;
        std::vector<i64> batch = members(ledger, turn(ledger)), losers;
        for (i64 i : batch)
            for (i64 j : batch)
                if (i != j && upper(ledger, i, j) < 0.5) {
                    losers.push_back(i);
                    break;
                }
        if (losers.size() < batch.size())  // in a circle all of them might leave
            for (i64 i : losers) batch_of(ledger, i) = -1;
        if (batches > 1 && batch.size() - losers.size() == 1) join_batches(ledger, turn(ledger), (turn(ledger) + 1) % batches);
    }

    static std::vector<i64> members(const Ledger& ledger, i64 batch) {
        std::vector<i64> found;
        for (i64 i = 0; i < ledger.n; i++)
            if (batch_of(ledger, i) == batch) found.push_back(i);
        return found;
    }

    // Two batches become the earlier of them; those after the later one move up.
    static void join_batches(Ledger& ledger, i64 one, i64 other) {
        i64 kept = std::min(one, other), gone = std::max(one, other);
        for (i64 i = 0; i < ledger.n; i++) {
            i64& batch = batch_of(ledger, i);
            if (batch == gone) batch = kept;
            else if (batch > gone) batch--;
        }
        ledger.notes[1]--;
        ledger.notes[2] = kept;
    }

    // The smallest with the largest, unless together they have more than 1.5 times the size of a batch.
    void merge_all(Ledger& ledger) const {
        std::vector<i64> sizes = sizes_of(ledger), order;
        for (i64 b = 0; b < ledger.notes[1]; b++) order.push_back(b);
        std::stable_sort(order.begin(), order.end(), [&](i64 x, i64 y) {
            return sizes[static_cast<std::size_t>(x)] < sizes[static_cast<std::size_t>(y)];
        });
        std::vector<i64> moved(order.size(), 0);
        i64 low = 0, high = ledger.notes[1] - 1, made = 0;
        while (low <= high) {
            i64 small = order[static_cast<std::size_t>(low)], large = order[static_cast<std::size_t>(high)];
            i64 together = sizes[static_cast<std::size_t>(small)] + sizes[static_cast<std::size_t>(large)];
            moved[static_cast<std::size_t>(large)] = made;
            if (low < high && 2 * together <= 3 * size_) moved[static_cast<std::size_t>(small)] = made, low++;
            high--, made++;
        }
        for (i64 i = 0; i < ledger.n; i++)
            if (batch_of(ledger, i) >= 0) batch_of(ledger, i) = moved[static_cast<std::size_t>(batch_of(ledger, i))];
        ledger.notes[1] = made;
    }
};

class MergeRUCB : public MergeRule {
public:
    using MergeRule::MergeRule;

protected:
    i64 champion(const Ledger&, Random& random, const std::vector<i64>& batch) const override { return one_of(random, batch); }
    i64 rival(const Ledger& ledger, Random& random, const std::vector<i64>& rivals, i64 c) const override {
        return one_of(random, largest(rivals, [&](i64 j) { return upper(ledger, j, c); }));
    }
};

class MergeDTS : public MergeRule {
public:
    using MergeRule::MergeRule;

protected:
    // The arm that wins most of its batch in one draw of all chances.
    i64 champion(const Ledger& ledger, Random& random, const std::vector<i64>& batch) const override {
        std::vector<double> wins(static_cast<std::size_t>(ledger.n), 0.0);
        for (std::size_t x = 0; x < batch.size(); x++)
            for (std::size_t y = x + 1; y < batch.size(); y++) {
                double theta = sample(ledger, random, batch[x], batch[y]);
                wins[static_cast<std::size_t>(batch[x])] += theta > 0.5;
                wins[static_cast<std::size_t>(batch[y])] += theta < 0.5;
            }
        return one_of(random, largest(batch, [&](i64 i) { return wins[static_cast<std::size_t>(i)]; }));
    }
    // The arm that loses most surely against it in a second draw.
    i64 rival(const Ledger& ledger, Random& random, const std::vector<i64>& rivals, i64 c) const override {
        i64 worst = -1;
        double least = INF;
        for (i64 j : rivals) {
            double theta = j == c ? 0.5 : sample(ledger, random, j, c);
            if (theta < least) worst = j, least = theta;
        }
        return worst;
    }
};

}  // namespace duelist
