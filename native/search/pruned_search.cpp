#include "search/pruned_search.hpp"

#include <numeric>

#include "search/sign_filter.hpp"

namespace duelist {

namespace {

constexpr i64 CLIMBERS = 1024;
constexpr i64 CLIMBS = 32;
constexpr i64 ARMS_PER_CLIMB = 256;
constexpr int CLIMB_STEPS = 8;
constexpr i64 FIRST_ROWS = 16;
constexpr i64 FIRST_DRAWS = 64;
constexpr int FAR_STEPS = 4;

enum class Objective { best, widest, best_wide, any_wider, random_wide };

// The search problem: objective, radius, threshold on widths, and the rounding error of a value.
struct SearchGoal {
    Objective objective;
    double radius, threshold, noise;
    const PairConstraints& constraints;
};

// The best pair so far.
struct Incumbent {
    i64 first = -1, second = -1;
    double value, square = 0.0;
    i64 wide = 0, examined = 0;

    explicit Incumbent(double value) : value(value) {}

    void set(double new_value, double new_square, i64 i, i64 j) {
        first = std::min(i, j);
        second = std::max(i, j);
        value = new_value;
        square = new_square;
    }

    // Replace the incumbent by a pair of larger value; on ties by a wider one, then by the first in row order. An arm
    // against itself, or no pair at all, keeps its place on ties.
    void update(double new_value, double new_square, i64 i, i64 j) {
        if (new_value < value || (new_value == value && new_square < square)) return;
        if (new_value == value && new_square == square) {
            if (first == second) return;
            if (std::pair(std::min(i, j), std::max(i, j)) > std::pair(first, second)) return;
        }
        set(new_value, new_square, i, j);
    }

    SearchResult result() const { return {first, second, value, examined}; }
};

// The bound that key_i + key_j must reach for the pair (i, j) to matter.
double reach(const SearchGoal& goal, const Incumbent& found) {
    switch (goal.objective) {
        case Objective::best: return found.value - goal.noise;
        case Objective::widest: return std::sqrt(found.value) - goal.noise;
        case Objective::best_wide:
            return found.value;  // sums of keys are the values themselves, so there is no rounding between them
        default: return goal.threshold - goal.noise;
    }
}

// The bound b of the filter: a value, or the width that wide pairs must exceed.
double filter_bound(const SearchGoal& goal, const Incumbent& found) {
    return goal.objective == Objective::best || goal.objective == Objective::widest ? reach(goal, found)
                                                                                    : goal.threshold - goal.noise;
}

// Set s_i = u_i + radius |v_i - center| for all arms and return the largest distance from the center. The distance is
// infinite if a value is not finite: then no bound can be trusted, and nothing can be sorted.
double upper_bounds(const ArmView& view, double radius, const std::vector<double>& center, std::vector<double>& s) {
    AlignedDoubles squares(view.n);
    kernels->squared_distances(view.v, view.stride, view.dim, center.data(), view.n, squares.data());
    s.resize(static_cast<std::size_t>(view.n));
    double far = 0.0;
    for (i64 i = 0; i < view.n; i++) {
        s[i] = (view.u ? view.u[i] : 0.0) + radius * std::sqrt(squares[i]);
        far = std::isfinite(s[i]) ? std::max(far, squares[i]) : INF;
    }
    return std::sqrt(far);
}

// As above, for the listed arms.
double upper_bounds_of(const ArmView& view, const std::vector<i64>& arms, double radius,
                       const std::vector<double>& center, std::vector<double>& s) {
    constexpr i64 MOST = 4;  // if more than every fourth arm is listed, processing all of them is faster than gathering
    if (static_cast<i64>(arms.size()) * MOST > view.n) {
        double far = upper_bounds(view, radius, center, s);
        s = picked(s, arms);
        return far;
    }
    SortedArms some(view, arms, {});
    return upper_bounds({view.u ? some.u.data() : nullptr, some.v.data(), some.n(), some.stride, some.dim}, radius,
                        center, s);
}

bool all_arms_equal(const ArmView& view) {
    for (i64 k = 0; k < view.dim; k++)
        for (i64 i = 1; i < view.n; i++)
            if (view.v[k * view.stride + i] != view.v[k * view.stride]) return false;
    return true;
}

bool all_equal(const double* values, i64 n) {
    for (i64 i = 1; i < n; i++)
        if (values[i] != values[0]) return false;
    return true;
}

std::vector<i64> all_arms(i64 n) {
    std::vector<i64> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// Positions i with key_i + max key >= bound, in ascending order.
std::vector<i64> positions_reaching(const std::vector<double>& key, double bound) {
    double top = key[kernels->argmax(key.data(), static_cast<i64>(key.size()))];
    std::vector<i64> kept;
    for (std::size_t i = 0; i < key.size(); i++)
        if (key[i] + top >= bound) kept.push_back(static_cast<i64>(i));
    return kept;
}

// The number of pairs with key_i + key_j >= bound, for decreasing keys.
i64 pairs_left(const std::vector<double>& key, double bound) {
    i64 count = 0, partner = static_cast<i64>(key.size());
    for (i64 i = 0; i < static_cast<i64>(key.size()); i++) {
        while (partner > 0 && key[i] + key[partner - 1] < bound) partner--;
        if (partner <= i + 1) break;
        count += partner - i - 1;
    }
    return count;
}

// Positions of the CLIMBERS largest keys in decreasing order; ties at the boundary go to the first.
std::vector<i64> largest_keys(const std::vector<double>& key) {
    if (static_cast<i64>(key.size()) <= CLIMBERS) return descending(key);
    std::vector<double> pool = key;
    std::nth_element(pool.begin(), pool.begin() + (CLIMBERS - 1), pool.end(), std::greater<>());
    double least = pool[CLIMBERS - 1];
    i64 places_left = CLIMBERS - std::count_if(key.begin(), key.end(), [least](double k) { return k > least; });
    std::vector<i64> chosen;
    for (std::size_t i = 0; i < key.size(); i++)
        if (key[i] > least || (key[i] == least && places_left-- > 0)) chosen.push_back(static_cast<i64>(i));
    return picked(chosen, descending(picked(key, chosen)));
}

// How many of the positions start .. stop - 1 have key_row + key >= bound, for decreasing keys.
i64 reachable(const std::vector<double>& key, i64 row, i64 start, i64 stop, double bound) {
    auto past = std::partition_point(key.begin() + start, key.begin() + stop,
                                     [&](double other) { return key[row] + other >= bound; });
    return past - (key.begin() + start);
}

// Evaluate the pairs of arm `row` with the arms start .. stop - 1 that come after it.
void evaluate(const SortedArms& sorted, const SearchGoal& goal, Incumbent& found, i64 row, i64 start, i64 stop,
              double* line, Sfc64* random) {
    start = std::max(start, row + 1);
    if (start >= stop) return;
    kernels->squared_widths(sorted.v.data(), sorted.stride, sorted.dim, row, start, stop, line);
    if (goal.objective == Objective::best)
        kernels->add_utilities(sorted.u[row], sorted.u.data() + start, goal.radius, line, stop - start);
    double limit = goal.threshold * goal.threshold;
    bool by_value = goal.objective == Objective::best || goal.objective == Objective::widest;
    for (i64 j = start; j < stop; j++) {
        double at = line[j - start];
        if (by_value ? at < found.value : !(at > limit)) continue;
        i64 first = sorted.arm[row], second = sorted.arm[j];
        if (!goal.constraints.allows(first, second)) continue;
        if (goal.objective == Objective::best_wide)
            found.update(sorted.u[row] + sorted.u[j], at, first, second);
        else if (goal.objective == Objective::random_wide) {
            found.wide++;
            if (random->below(found.wide) == 0) found.set(at, 0.0, first, second);  // reservoir sampling
        } else
            found.update(at, 0.0, first, second);
    }
}

// Filter and evaluate, block by block, all pairs whose keys can reach the bound. `far` is the largest distance from
// `center`.
void evaluate_filtered(const SortedArms& sorted, const SearchGoal& goal, Incumbent& found,
                       const std::vector<double>& center, double far, double slack, Sfc64* random = nullptr) {
    i64 n = sorted.n();
    bool with_u = goal.objective == Objective::best;  // otherwise the filter is on widths alone
    double largest_u = with_u ? kernels->largest_magnitude(sorted.u.data(), n) : 0.0;
    double bound = filter_bound(goal, found);
    double scale = goal.radius * far + largest_u + (std::isfinite(bound) ? std::fabs(bound) : 0.0);
    if (scale == 0.0) scale = 1.0;
    double raised = slack * allowance(sorted.dim);
    double least = UNDERFLOW_OF_PRODUCTS + (goal.noise / scale) * (goal.noise / scale);
    SignFilter filter(n, sorted.dim, false);
    filter.pack_features(sorted, center.data(), goal.radius, scale);
    AlignedDoubles line(CHUNK);
    double packed = -INF;
    i64 rows = FIRST_ROWS;
    for (i64 start = 0; start + 1 < n && sorted.key[start] + sorted.key[start + 1] >= reach(goal, found);) {
        i64 count = std::min(rows, n - start);
        bound = filter_bound(goal, found);
        if (bound == -INF) {  // without an incumbent there is nothing to filter by: evaluate complete rows first
            count = std::min<i64>(count, 1);
            for (i64 at = start; at < n; at += CHUNK)
                evaluate(sorted, goal, found, start, at, std::min(at + CHUNK, n), line.data(), random);
            found.examined += n - start - 1;
            start += count;
            continue;
        }
        if (bound > packed) {
            packed = bound;
            // h_i + h_j may exceed 0 by the noise. Then Q_ij >= -noise^2, and such a pair must pass, too.
            for (i64 i = 0; i < n; i++) {
                double h = ((with_u ? sorted.u[i] : 0.0) - 0.5 * bound) / scale, square = filter.square(i);
                filter.set(i, h, square - h * h + raised * (square + h * h) + least);
            }
        }
        for (i64 column = start / TILE * TILE; column < n;) {
            i64 from = std::max(column, start);
            i64 stop =
                from + reachable(sorted.key, start, from, std::min(column + BLOCK_COLUMNS, n), reach(goal, found));
            if (stop == from) break;
            const unsigned char* mask = filter.signs(start, count, column, stop - column, -2.0);
            i64 chunks = SignFilter::chunks(stop - column);
            for (i64 i = 0; i < count; i++) {
                for (i64 c = 0; c < chunks; c++) {
                    i64 first = column + c * CHUNK, last = std::min(first + CHUNK, stop);
                    // Keys decrease along the row.
                    if (sorted.key[start + i] + sorted.key[std::max(first, from)] < reach(goal, found)) break;
                    if (mask[i * chunks + c])
                        evaluate(sorted, goal, found, start + i, first, last, line.data(), random);
                }
                found.examined += std::max<i64>(0, stop - std::max(from, start + i + 1));
            }
            if (stop < std::min(column + BLOCK_COLUMNS, n)) break;  // keys only decrease from here on
            column = stop;
        }
        if (goal.objective == Objective::any_wider && found.first != found.second) return;
        start += count;
        rows = std::min(2 * rows, BLOCK_ROWS);
    }
}

// The arm of largest value in `line` that `arm` may duel. Few pairs are excluded, so candidates are tried in order of
// value.
i64 best_partner(const SortedArms& sorted, const PairConstraints& constraints, i64 arm, AlignedDoubles& line) {
    if (!constraints.unconstrained()) line[arm] = -INF;
    for (;;) {
        i64 partner = kernels->argmax(line.data(), sorted.n());
        if (line[partner] == -INF || partner == arm || constraints.allows(sorted.arm[arm], sorted.arm[partner]))
            return partner;
        line[partner] = -INF;
    }
}

// Hill climbing: from each of the first arms, go to the best partner until the value stops growing. Return the mean
// midpoint of the first pairs of all climbs.
std::vector<double> climb(const SortedArms& sorted, const SearchGoal& goal, Incumbent& found) {
    i64 n = sorted.n();
    i64 starts = std::max<i64>(1, std::min(CLIMBS, n / ARMS_PER_CLIMB));
    std::vector<double> midpoint(static_cast<std::size_t>(sorted.dim), 0.0);
    AlignedDoubles line(n);
    for (i64 start = 0; start < starts; start++) {
        i64 arm = start;
        double height = -INF;
        int step = 0;
        for (; step < CLIMB_STEPS; step++) {
            kernels->squared_widths(sorted.v.data(), sorted.stride, sorted.dim, arm, 0, n, line.data());
            if (goal.objective == Objective::best)
                kernels->add_utilities(sorted.u[arm], sorted.u.data(), goal.radius, line.data(), n);
            i64 partner = best_partner(sorted, goal.constraints, arm, line);
            if (step == 0)
                for (i64 k = 0; k < sorted.dim; k++) {
                    const double* row = sorted.v.data() + k * sorted.stride;
                    midpoint[k] += 0.5 * (row[arm] + row[partner]) / static_cast<double>(starts);
                }
            if (partner == arm || !(line[partner] > height)) break;
            height = line[partner];
            found.update(height, 0.0, sorted.arm[arm], sorted.arm[partner]);
            arm = partner;
        }
        found.examined += (step + 1) * (n - 1);
    }
    return midpoint;
}

// Search the best or the widest pair. Return false, without a result, if squared widths overflow.
bool search(const ArmView& view, Objective objective, double radius, const PairConstraints& constraints,
            Incumbent& found, double slack) {
    std::vector<double> center = sample_mean(view), key;
    double far = upper_bounds(view, radius, center, key);
    double largest_u = view.u ? kernels->largest_magnitude(view.u, view.n) : 0.0;
    SearchGoal goal{objective, radius, 0.0, rounding_noise(view.dim, largest_u, radius, far), constraints};
    if (!std::isfinite(4.0 * far * far) || !std::isfinite(goal.noise)) return false;
    // If all arms are equal, the best arm against itself is the maximum.
    if (constraints.unconstrained() && far == 0.0 && all_arms_equal(view)) return true;
    std::vector<i64> top = largest_keys(key);
    std::vector<double> midpoint = climb(SortedArms(view, top, picked(key, top)), goal, found);
    std::vector<i64> kept = positions_reaching(key, reach(goal, found));
    key = picked(key, kept);
    std::vector<i64> order = descending(key);
    if (static_cast<i64>(kept.size()) > BLOCK_ROWS) {
        // If utilities matter, a center between the arms of good pairs often leaves far fewer pairs.
        std::vector<double> other_key;
        double other_far = upper_bounds_of(view, kept, radius, midpoint, other_key);
        goal.noise = std::max(goal.noise, rounding_noise(view.dim, largest_u, radius, other_far));
        double bound = reach(goal, found);
        std::vector<i64> other_order = descending(other_key);
        if (pairs_left(picked(other_key, other_order), bound) < pairs_left(picked(key, order), bound)) {
            // The arms that cannot reach the bound are last.
            other_order.resize(positions_reaching(other_key, bound).size());
            key = std::move(other_key);
            order = std::move(other_order);
            center = std::move(midpoint);
            far = other_far;
        }
    }
    evaluate_filtered(SortedArms(view, picked(kept, order), picked(key, order)), goal, found, center, far, slack);
    return true;
}

// Evaluate all pairs in order, for when squares overflow and no bound can be trusted.
SearchResult evaluate_all(const ArmView& view, Objective objective, double radius, double threshold,
                          const PairConstraints& constraints, Incumbent found) {
    SortedArms sorted(view, all_arms(view.n), std::vector<double>(static_cast<std::size_t>(view.n)));
    SearchGoal goal{objective, radius, std::fabs(threshold), 0.0, constraints};
    AlignedDoubles line(view.n);
    for (i64 i = 0; i + 1 < view.n; i++) evaluate(sorted, goal, found, i, i + 1, view.n, line.data(), nullptr);
    found.examined = view.n * (view.n - 1) / 2;
    return found.result();
}

// The arms that can be in a pair wider than a threshold, with their distances from a center as keys.
struct WidthBounds {
    std::vector<double> center, key;
    std::vector<i64> kept;
    double far;
    SearchGoal goal;

    WidthBounds(const ArmView& view, Objective objective, double threshold, const PairConstraints& constraints)
        : center(sample_mean(view)), goal{objective, 1.0, std::fabs(threshold), 0.0, constraints} {
        std::vector<double> distance;
        ArmView widths = view;
        widths.u = nullptr;
        far = upper_bounds(widths, 1.0, center, distance);
        goal.noise = rounding_noise(view.dim, 0.0, 1.0, far);
        kept = positions_reaching(distance, goal.threshold - goal.noise);
        key = picked(distance, kept);
    }
    bool overflows() const { return !std::isfinite(4.0 * far * far); }
    SortedArms sorted(const ArmView& view) const {
        std::vector<i64> order = descending(key);
        return SortedArms(view, picked(kept, order), picked(key, order));
    }
};

}  // namespace

SearchResult search_best(const ArmView& view, double radius, const PairConstraints& constraints, double slack) {
    Incumbent found(-INF);
    if (!constraints.distinct) {
        i64 top = kernels->argmax(view.u, view.n);
        found.set(view.u[top] + view.u[top], 0.0, top, top);
    }
    if (search(view, Objective::best, radius, constraints, found, slack)) return found.result();
    return evaluate_all(view, Objective::best, radius, 0.0, constraints, found);
}

SearchResult search_widest(const ArmView& view, const PairConstraints& constraints, double slack) {
    ArmView widths = view;
    widths.u = nullptr;
    Incumbent found(0.0);
    if (search(widths, Objective::widest, 1.0, constraints, found, slack)) return found.result();
    return evaluate_all(widths, Objective::widest, 1.0, 0.0, constraints, found);
}

SearchResult search_wider(const ArmView& view, double threshold, const PairConstraints& constraints, double slack) {
    double limit = threshold * threshold;
    WidthBounds spread(view, Objective::any_wider, threshold, constraints);
    if (spread.overflows()) {
        SearchResult widest = search_widest(view, constraints, slack);
        return widest.value > limit ? widest : SearchResult{-1, -1, 0.0, widest.examined};
    }
    Incumbent found(0.0);
    i64 n = view.n;
    if (spread.kept.size() < 2) return found.result();
    // Walk from the arm farthest from the center to the arm farthest from it, and so on: usually a wide pair, if there
    // is one.
    AlignedDoubles line(n);
    i64 start = spread.kept[kernels->argmax(spread.key.data(), static_cast<i64>(spread.key.size()))];
    for (int step = 0; step < FAR_STEPS; step++) {
        kernels->squared_widths(view.v, view.stride, view.dim, start, 0, n, line.data());
        i64 partner = kernels->argmax(line.data(), n);
        found.examined += n - 1;
        if (partner != start && line[partner] > limit && constraints.allows(start, partner)) {
            found.set(line[partner], 0.0, start, partner);
            return found.result();
        }
        start = partner;
    }
    evaluate_filtered(spread.sorted(view), spread.goal, found, spread.center, spread.far, slack);
    return found.result();
}

// Arms are tried by decreasing u. The leading ones come first, so that the wide pairs found among them rule out most
// others.
SearchResult search_best_wide(const ArmView& view, double threshold, const PairConstraints& constraints, double slack) {
    double limit = threshold * threshold;
    if (all_equal(view.u, view.n)) {  // as before the first outcome: all sums are equal, so the widest pair wins
        SearchResult widest = search_widest(view, constraints, slack);
        return widest.found() && widest.value > limit ? widest : SearchResult{-1, -1, 0.0, widest.examined};
    }
    Incumbent found(-INF);
    WidthBounds spread(view, Objective::best_wide, threshold, constraints);
    if (spread.overflows()) return evaluate_all(view, Objective::best_wide, 1.0, threshold, constraints, found);
    SearchResult wide = search_wider(view, threshold, constraints, slack);
    found.examined += wide.examined;
    if (!wide.found()) {  // the width may still exceed the threshold by rounding when it is squared
        wide = search_widest(view, constraints, slack);
        found.examined += wide.examined;
        if (!wide.found() || !(wide.value > limit)) return {-1, -1, 0.0, found.examined};
    }
    found.set(view.u[wide.first] + view.u[wide.second], wide.value, wide.first, wide.second);
    std::vector<double> own(spread.kept.size());
    for (std::size_t k = 0; k < own.size(); k++) own[k] = view.u[spread.kept[k]];
    std::vector<i64> chosen = largest_keys(own);
    while (chosen.size() > 1) {
        evaluate_filtered(SortedArms(view, picked(spread.kept, chosen), picked(own, chosen)), spread.goal, found,
                          spread.center, spread.far, slack);
        std::vector<i64> rest = positions_reaching(own, found.value);
        if (rest.size() <= chosen.size()) break;  // all arms that can reach the bound were tried
        chosen = picked(rest, descending(picked(own, rest)));
    }
    return found.result();
}

namespace {

// Try up to `tries` random pairs of the given arms; stop at the first wide one.
bool draw_wide(const ArmView& view, const std::vector<i64>& arms, double limit, i64 tries,
               const PairConstraints& constraints, Sfc64& random, Incumbent& found) {
    i64 n = static_cast<i64>(arms.size());
    for (i64 tried = 0; n >= 2 && tried < tries; tried++) {
        i64 a = random.below(n), b = random.below(n - 1);
        i64 i = arms[a], j = arms[b >= a ? b + 1 : b];
        found.examined++;
        double square = view.squared_width(i, j);
        if (square > limit && constraints.allows(i, j)) {
            found.set(square, 0.0, i, j);
            return true;
        }
    }
    return false;
}

}  // namespace

// Rejection sampling, first from all arms, then from those that can be in a wide pair. If wide pairs are too rare for
// that, one sweep with reservoir sampling.
SearchResult search_random_wide(const ArmView& view, double threshold, const PairConstraints& constraints,
                                Sfc64& random, double slack) {
    double limit = threshold * threshold;
    Incumbent found(0.0);
    if (draw_wide(view, all_arms(view.n), limit, FIRST_DRAWS, constraints, random, found)) return found.result();
    WidthBounds spread(view, Objective::random_wide, threshold, constraints);
    if (spread.overflows()) {
        SortedArms sorted(view, all_arms(view.n), std::vector<double>(static_cast<std::size_t>(view.n)));
        AlignedDoubles line(view.n);
        for (i64 i = 0; i + 1 < view.n; i++)
            evaluate(sorted, spread.goal, found, i, i + 1, view.n, line.data(), &random);
        return found.result();
    }
    i64 tries = static_cast<i64>(spread.kept.size());
    if (draw_wide(view, spread.kept, limit, tries, constraints, random, found) || tries < 2) return found.result();
    evaluate_filtered(spread.sorted(view), spread.goal, found, spread.center, spread.far, slack, &random);
    return found.result();
}

}  // namespace duelist
