#include "policies/d_optimal_design.hpp"

#include "numerics/parallel.hpp"

namespace duelist {

namespace {

constexpr i64 GROUP = 100;        // contexts per group: the best context is the best of the groups' best
constexpr i64 ARMS_AT_ONCE = 64;  // arms that are whitened at once
constexpr double SELECTED = -1.0;
constexpr double NOTHING_LEFT = -1.0;

// Index of the pair i < j among the pairs of n arms, row by row.
i64 index_of_pair(i64 i, i64 j, i64 n) { return i * n - i * (i + 1) / 2 + j - i - 1; }

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
    for (std::vector<i64>* numbers : {&best_pair_, &accounted_for_, &n_selected_})
        numbers->resize(static_cast<std::size_t>(n));
    best_context_.resize(static_cast<std::size_t>((n + GROUP - 1) / GROUP));
    threads = usable_threads(threads, n);
    run_in_parts(threads, [&](i64 k) { initialize_contexts(n * k / threads, n * (k + 1) / threads, theta); });
    for (i64 group = 0; group * GROUP < n; group++) find_best_context(group);
}

void GreedyDesign::select_random(Sfc64& random) {
    auto is_open = [&](i64 c) { return n_selected_[c] == 0 && contexts_.count(c) > 1; };
    i64 open = 0, context = 0;
    for (i64 c = 0; c < contexts_.n; c++) open += is_open(c);
    if (open == 0) return select_best();
    i64 left = random.below(open);
    while (!is_open(context) || left-- > 0) context++;
    i64 i = random.below(contexts_.count(context)), j = random.below(contexts_.count(context) - 1);
    j += j >= i;
    select(context, i, j);
}

void GreedyDesign::select_best() {
    i64 context = best_context();
    while (accounted_for_[context] != static_cast<i64>(selected_.size())) {
        update_context(context);
        find_best_context(context / GROUP);
        context = best_context();
    }
    i64 i = 0, pair = best_pair_[context];
    while (index_of_pair(i + 1, i + 2, contexts_.candidates) <= pair && i + 2 < contexts_.candidates) i++;
    select(context, i, pair - index_of_pair(i, i + 1, contexts_.candidates) + i + 1);
}

double GreedyDesign::slope_of(i64 context, i64 i, i64 j) const {
    const double* u = utilities_.data() + context * contexts_.candidates;
    return slope(link_, u[i] - u[j]);
}

// Compute utilities and squared widths of some contexts, and the best pair of each.
void GreedyDesign::initialize_contexts(i64 start, i64 stop, const double* theta) {
    i64 candidates = contexts_.candidates, dim = contexts_.dim, together = std::max<i64>(1, ARMS_AT_ONCE / candidates);
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
                squares = std::fill_n(squares, candidates - i - 1 - there, SELECTED);  // no candidate to select
            }
            find_best_pair(c);
        }
    }
}

// Update a context for the pairs selected since its last update.
void GreedyDesign::update_context(i64 context) {
    i64 candidates = contexts_.candidates;
    double* squares = squares_.data() + context * contexts_.pairs();
    std::vector<double> along(static_cast<std::size_t>(candidates));
    for (std::size_t t = static_cast<std::size_t>(accounted_for_[context]); t < selected_.size(); t++) {
        for (i64 k = 0; k < candidates; k++)
            along[k] = kernels->dot(updates_[t].data(), contexts_.arm(context, k), contexts_.dim);
        double* square = squares;
        for (i64 i = 0; i + 1 < candidates; i++)
            for (i64 j = i + 1; j < candidates; j++, square++) {
                double fall = along[i] - along[j];
                if (*square != SELECTED) *square = std::max(*square - fall * fall, 0.0);
            }
    }
    accounted_for_[context] = static_cast<i64>(selected_.size());
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
            // The value is at most that of the largest slope, so most pairs need no exponential.
            if (square[pair] == SELECTED || largest * square[pair] <= most) continue;
            double value = slope_of(context, i, j) * square[pair];
            if (!(value >= 0.0)) value = 0.0;  // NaN counts as no information; the pair can still be selected
            if (value > most) {
                most = value;
                best_pair_[context] = pair;
            }
        }
    bool any = best_pair_[context] >= 0;
    value_[context] = any ? log1p(most) / static_cast<double>(1 + n_selected_[context]) : NOTHING_LEFT;
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

void GreedyDesign::select(i64 context, i64 i, i64 j) {
    update_context(context);
    i64 index = index_of_pair(std::min(i, j), std::max(i, j), contexts_.candidates);
    double& square = squares_[context * contexts_.pairs() + index];
    double slope = slope_of(context, i, j);
    store_update(context, i, j, slope / (1.0 + slope * square));
    selected_.push_back({context, i, j, log1p(slope * square)});
    square = SELECTED;
    n_selected_[context]++;
    update_context(context);
    find_best_context(context / GROUP);
}

// Store h of a selected pair: H^-1 z, updated for the pairs before it, times the root of the weight.
void GreedyDesign::store_update(i64 context, i64 i, i64 j, double weight) {
    i64 dim = contexts_.dim;
    AlignedDoubles z(dim), h(dim);
    for (i64 k = 0; k < dim; k++) h[k] = z[k] = contexts_.arm(context, i)[k] - contexts_.arm(context, j)[k];
    kernels->solve_lower(factor_, dim, h.data());
    kernels->solve_upper(factor_, dim, h.data());
    for (const AlignedDoubles& before : updates_) {
        double along = kernels->dot(before.data(), z.data(), dim);
        for (i64 k = 0; k < dim; k++) h[k] -= along * before[k];
    }
    double root = std::sqrt(weight);
    for (i64 k = 0; k < dim; k++) h[k] *= root;
    updates_.push_back(std::move(h));
}

}  // namespace duelist
