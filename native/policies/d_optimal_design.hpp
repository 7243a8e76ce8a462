// Contexts and pairs of a batch chosen together: the greedy D-optimal design in the curvature at the estimate.
//
// With H the curvature, a pair of context c with difference z and slope s = mu'(z . theta) adds log(1 + s z' H^-1 z) to log det H. The
// pair that adds most is taken, H becomes H + s zz', and so on. With h = H^-1 z sqrt(s / (1 + s z' H^-1 z)) of the pair
// taken, H^-1 becomes H^-1 - hh', so that any other z' H^-1 z falls by (h . z)^2: a product of h with each arm of the context, and
// nothing of size dim^2. Since what a pair adds only ever falls, a context is looked at again only when it would be next.
//
// What a context adds is divided by one more than the pairs it has in the batch: the second pair of a context has to be worth two
// of the first in others. No pair is taken twice.
#pragma once

#include <vector>

#include "model/links.hpp"
#include "numerics/buffer.hpp"
#include "numerics/random.hpp"

namespace duelist {

struct ContextArms {
    const double* arms;  // (n, candidates, dim)
    i64 n, candidates, dim;
    const i64* counts = nullptr;  // how many of the candidates of each context are there; nullptr: all

    i64 count(i64 context) const { return counts ? counts[context] : candidates; }
    i64 pairs_of(i64 context) const { return count(context) * (count(context) - 1) / 2; }
    const double* arm(i64 context, i64 k) const { return arms + (context * candidates + k) * dim; }
    // So many arms of the first contexts, each less the mean of those of its context: contexts may be far from each other.
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
    double information;  // log(1 + s z' H^-1 z) when it was taken
};

class GreedyDesign {
public:
    // `factor` is the upper factor of H. There are at least two candidates in some context.
    GreedyDesign(Link link, const double* theta, const double* factor, const ContextArms& contexts, i64 threads);

    // A pair of different arms by chance, in a context by chance that is not in the batch; where all are, the pair that adds most.
    void take_random(Sfc64& random);

    // The pair that adds most; equal ones: the first. There must be one that is not taken.
    void take_best();

    const std::vector<DesignedPair>& selected() const { return selected_; }

private:
    Link link_;
    const double* factor_;
    ContextArms contexts_;
    AlignedDoubles utilities_;                 // (n, candidates)
    AlignedDoubles squares_;                   // (n, pairs): z' H^-1 z, -1 where a pair is taken
    std::vector<double> value_;                // of every context: what its best pair would add, divided
    std::vector<i64> best_pair_, pairs_seen_;  // its best pair; how many taken pairs that takes into account
    std::vector<i64> times_, best_context_;    // its pairs in the batch; the best context of each group
    std::vector<DesignedPair> selected_;
    std::vector<AlignedDoubles> reach_;  // h of every pair taken

    double slope_of(i64 context, i64 i, i64 j) const;
    void initialize_contexts(i64 start, i64 stop, const double* theta);
    void update_context(i64 context);
    void find_best_pair(i64 context);
    void find_best_context(i64 group);
    i64 best_context() const;
    void take(i64 context, i64 i, i64 j);
    void follow(i64 context, i64 i, i64 j, double weight);
};

}  // namespace duelist
