#include "policies/d_optimal_design.hpp"

#include "numerics/parallel.hpp"

namespace duelist {

namespace {

constexpr i64 GROUP =
    100;  // contexts whose best is remembered, so that the best of ten thousand is found among a hundred
constexpr i64 TOGETHER = 64;  // arms that are whitened at once
constexpr double SELECTED = -1.0;
constexpr double NOTHING_LEFT = -1.0;

// Where the pair i < j stands among those of n arms, row by row.
i64 place_of(i64 i, i64 j, i64 n) { return i * n - i * (i + 1) / 2 + j - i - 1; }

}  // namespace

GreedyDesign::GreedyDesign(Link link, const double* theta, const double* factor, const ContextArms& contexts,
                           i64 threads)
    : link_(link),
      factor_(factor),
      contexts_(contexts),
      utilities_(contexts.n * contexts.candidates),
      squares_(contexts.n * contexts.pairs()) {
    i64 n = contexts.n;
    value_.resize(static_cast<std::size_t>(n));
    for (std::vector<i64>* numbers : {&best_pair_, &pairs_seen_, &times_}) numbers->resize(static_cast<std::size_t>(n));
    best_context_.resize(static_cast<std::size_t>((n + GROUP - 1) / GROUP));
    threads = usable_threads(threads, n);
    run_in_parts(threads, [&](i64 k) { initialize_contexts(n * k / threads, n * (k + 1) / threads, theta); });
    for (i64 group = 0; group * GROUP < n; group++) find_best_context(group);
}

void GreedyDesign::take_random(Sfc64& random) {
    auto is_open = [&](i64 c) { return times_[c] == 0 && contexts_.count(c) > 1; };
    i64 open = 0, context = 0;
    for (i64 c = 0; c < contexts_.n; c++) open += is_open(c);
    if (open == 0) return take_best();
    i64 left = random.below(open);
    while (!is_open(context) || left-- > 0) context++;
    i64 i = random.below(contexts_.count(context)), j = random.below(contexts_.count(context) - 1);
    j += j >= i;
    take(context, i, j);
}

void GreedyDesign::take_best() {
    i64 context = best_context();
    while (pairs_seen_[context] != static_cast<i64>(selected_.size())) {
        update_context(context);
        find_best_context(context / GROUP);
        context = best_context();
    }
    i64 i = 0, pair = best_pair_[context];
    while (place_of(i + 1, i + 2, contexts_.candidates) <= pair && i + 2 < contexts_.candidates) i++;
    take(context, i, pair - place_of(i, i + 1, contexts_.candidates) + i + 1);
}

double GreedyDesign::slope_of(i64 context, i64 i, i64 j) const {
    const double* u = utilities_.data() + context * contexts_.candidates;
    return slope(link_, u[i] - u[j]);
}

// Utilities and squared widths of some contexts, and the best pair of each.
void GreedyDesign::initialize_contexts(i64 start, i64 stop, const double* theta) {
    i64 candidates = contexts_.candidates, dim = contexts_.dim, together = std::max<i64>(1, TOGETHER / candidates);
    i64 stride = padded(together * candidates);
    AlignedDoubles u(stride), v(dim * stride), line(stride);
    for (i64 from = start; from < stop; from += together) {
        i64 to = std::min(from + together, stop), arms = (to - from) * candidates;
        kernels->whiten(contexts_.arm(from, 0), nullptr, arms, dim, theta, factor_, u.data(), v.data(), stride);
        std::copy_n(u.data(), arms, utilities_.data() + from * candidates);
        for (i64 c = from; c < to; c++) {
            i64 at = (c - from) * candidates;
            double* squares = squares_.data() + c * contexts_.pairs();
            for (i64 i = 0; i + 1 < candidates; i++) {
                kernels->squared_widths(v.data(), stride, dim, at + i, at + i + 1, at + candidates, line.data());
                i64 there = std::max<i64>(contexts_.count(c) - i - 1, 0);
                squares = std::copy_n(line.data(), there, squares);
                squares = std::fill_n(squares, candidates - i - 1 - there, SELECTED);  // nobody is there to be taken
            }
            find_best_pair(c);
        }
    }
}

// Take into account what was taken since the context was last looked at.
void GreedyDesign::update_context(i64 context) {
    i64 candidates = contexts_.candidates;
    double* squares = squares_.data() + context * contexts_.pairs();
    std::vector<double> along(static_cast<std::size_t>(candidates));
    for (std::size_t t = static_cast<std::size_t>(pairs_seen_[context]); t < selected_.size(); t++) {
        for (i64 k = 0; k < candidates; k++)
            along[k] = kernels->dot(reach_[t].data(), contexts_.arm(context, k), contexts_.dim);
        double* square = squares;
        for (i64 i = 0; i + 1 < candidates; i++)
            for (i64 j = i + 1; j < candidates; j++, square++) {
                double fall = along[i] - along[j];
                if (*square != SELECTED) *square = std::max(*square - fall * fall, 0.0);
            }
    }
    pairs_seen_[context] = static_cast<i64>(selected_.size());
    find_best_pair(context);
}

void GreedyDesign::find_best_pair(i64 context) {
    i64 candidates = contexts_.candidates;
    const double* square = squares_.data() + context * contexts_.pairs();
    double largest = max_slope(link_), most = NOTHING_LEFT;
    best_pair_[context] = -1;
    i64 pair = 0;
    for (i64 i = 0; i + 1 < candidates; i++)
        for (i64 j = i + 1; j < candidates; j++, pair++) {
            // At most that of the largest slope; most pairs need no exponential.
            if (square[pair] == SELECTED || largest * square[pair] <= most) continue;
            double worth = slope_of(context, i, j) * square[pair];
            if (!(worth >= 0.0)) worth = 0.0;  // what is not a number teaches nothing, and can still be asked
            if (worth > most) {
                most = worth;
                best_pair_[context] = pair;
            }
        }
    bool any = best_pair_[context] >= 0;
    value_[context] = any ? log1p(most) / static_cast<double>(1 + times_[context]) : NOTHING_LEFT;
}

void GreedyDesign::find_best_context(i64 group) {
    auto from = value_.begin() + group * GROUP;
    auto to = value_.begin() + std::min<i64>((group + 1) * GROUP, contexts_.n);
    best_context_[group] = std::max_element(from, to) - value_.begin();
}

i64 GreedyDesign::best_context() const {
    i64 top = best_context_[0];
    for (i64 context : best_context_)
        if (value_[context] > value_[top]) top = context;
    return top;
}

void GreedyDesign::take(i64 context, i64 i, i64 j) {
    update_context(context);
    i64 place = place_of(std::min(i, j), std::max(i, j), contexts_.candidates);
    double& square = squares_[context * contexts_.pairs() + place];
    double slope = slope_of(context, i, j);
    follow(context, i, j, slope / (1.0 + slope * square));
    selected_.push_back({context, i, j, log1p(slope * square)});
    square = SELECTED;
    times_[context]++;
    update_context(context);
    find_best_context(context / GROUP);
}

// h of a pair that is taken: H^-1 z, by the factor and the pairs before it, times the root of the weight.
void GreedyDesign::follow(i64 context, i64 i, i64 j, double weight) {
    i64 dim = contexts_.dim;
    AlignedDoubles z(dim), h(dim);
    for (i64 k = 0; k < dim; k++) h[k] = z[k] = contexts_.arm(context, i)[k] - contexts_.arm(context, j)[k];
    kernels->solve_lower(factor_, dim, h.data());
    kernels->solve_upper(factor_, dim, h.data());
    for (const AlignedDoubles& before : reach_) {
        double along = kernels->dot(before.data(), z.data(), dim);
        for (i64 k = 0; k < dim; k++) h[k] -= along * before[k];
    }
    double root = std::sqrt(weight);
    for (i64 k = 0; k < dim; k++) h[k] *= root;
    reach_.push_back(std::move(h));
}

}  // namespace duelist
