// Greedy D-optimal design in the curvature at the estimate, which selects contexts and pairs of a batch together.
//
// With H the curvature, a pair with difference z and slope s = mu'(z . theta) adds log(1 + s z' H^-1 z) to log det H.
// The pair that adds most is selected, H becomes H + s zz', and so on. With h = H^-1 z sqrt(s / (1 + s z' H^-1 z)) of a
// selected pair, H^-1 becomes H^-1 - hh', so any other z' H^-1 z decreases by (h . z)^2. That takes a product of h with
// each arm of a context, and no computation of size dim^2. Since values only decrease, a context is updated only when
// it would be selected next.
//
// The value of a context is divided by one plus the number of its pairs in the batch, so that a second pair of a
// context is selected only if it is worth two first pairs of others. No pair is selected twice.
#pragma once

#include <vector>

#include "model/links.hpp"
#include "numerics/buffer.hpp"
#include "numerics/random.hpp"

namespace duelist {

struct ContextArms {
    const double* arms;  // (n, candidates, dim)
    i64 n, candidates, dim;
    const i64* counts = nullptr;  // number of candidates per context; null: all contexts have `candidates`

    i64 count(i64 context) const { return counts ? counts[context] : candidates; }
    i64 pairs_of(i64 context) const { return count(context) * (count(context) - 1) / 2; }
    const double* arm(i64 context, i64 k) const { return arms + (context * candidates + k) * dim; }
    // Up to `most` arms of the first contexts, centered by context, because contexts may be far apart.
    std::vector<double> some_arms(i64 most) const {
        std::vector<double> some;
        for (i64 c = 0; c < n && most > 0; c++) {
            i64 shown = std::min(count(c), most);
            most -= shown;
            for (i64 a = 0; a < shown; a++)
                for (i64 k = 0; k < dim; k++) some.push_back(arm(c, a)[k] - arm(c, 0)[k]);
            double* rows = some.data() + static_cast<i64>(some.size()) - shown * dim;
            for (i64 k = 0; k < dim; k++) {
                double mean = 0.0;
                for (i64 a = 0; a < shown; a++) mean += rows[a * dim + k] / static_cast<double>(shown);
                for (i64 a = 0; a < shown; a++) rows[a * dim + k] -= mean;
            }
        }
        return some;
    }
    i64 pairs() const { return candidates * (candidates - 1) / 2; }
};

struct DesignedPair {
    i64 context, first, second;
    double information;  // log(1 + s z' H^-1 z) when it was selected
};

class GreedyDesign {
public:
    // `factor` is the upper factor of H. Some context must have at least two candidates.
    GreedyDesign(Link link, const double* theta, const double* factor, const ContextArms& contexts, i64 threads);

    // Select a random pair in a random context that has none in the batch. If all have one, the best pair.
    void select_random(Sfc64& random);

    // Select the pair that adds most; ties go to the first. Some pair must be left.
    void select_best();

    const std::vector<DesignedPair>& selected() const { return selected_; }

private:
    Link link_;
    const double* factor_;
    ContextArms contexts_;
    AlignedDoubles utilities_;   // (n, candidates)
    AlignedDoubles squares_;     // (n, pairs): z' H^-1 z, or -1 for selected pairs
    std::vector<double> value_;  // of each context: the value of its best pair, after division
    // of each context: its best pair, and the number of selected pairs it accounts for
    std::vector<i64> best_pair_, accounted_for_;
    std::vector<i64> n_selected_;    // number of pairs of each context in the batch
    std::vector<i64> best_context_;  // of each group
    std::vector<DesignedPair> selected_;
    std::vector<AlignedDoubles> updates_;  // h of each selected pair

    double slope_of(i64 context, i64 i, i64 j) const;
    void initialize_contexts(i64 start, i64 stop, const double* theta);
    void update_context(i64 context);
    void find_best_pair(i64 context);
    void find_best_context(i64 group);
    i64 best_context() const;
    void select(i64 context, i64 i, i64 j);
    void store_update(i64 context, i64 i, i64 j, double weight);
};

}  // namespace duelist
