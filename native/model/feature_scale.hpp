// The scale of each feature. Ridge and prior precision are multiples of its square.
//
// A common scale would shrink features with small numbers away and credit their effect to others. So the squared scale
// s of a feature starts as its variance among the first arms, and adapts to the differences d that are learned, because
// d^2 / 2 has that variance as its mean. Outcomes are counted in windows, each twice as long as the one before. At the
// end of a window:
//
// 1. s grows to the window's mean of d^2 / 2 if that is at least RESCALE_FACTOR s.
// 2. s shrinks to that mean if even the largest d^2 / 2 is below s / RESCALE_FACTOR. (The mean would be the wrong
//    criterion: a policy stops comparing arms that differ in a feature whose effect it knows, and rare features seldom
//    differ.)
// 3. If more than half of the features shrink, none shrinks by a factor below half of the median factor.
//
// A feature in which the first arms are equal has no scale. Until the first vote it takes the variance of any later
// round's arms, then d^2 / 2 of the first duel that differs in it.
//
// Until the end of the second window a round can also be decided with the variances of the round's arms: for a feature
// whose variance exceeds OUTLIER_FACTOR s, unless single arms are the reason; and for all features, if among at least
// four arms most features have a variance below s / OUTLIER_FACTOR. Without this, a policy whose first arms were far
// too large would be certain at once, and one whose first arms were nearly equal would trust its first votes blindly.
//
// In the latter case, and if rule 3 applies at the end of the second window, the first arms were atypical. A difference
// whose d^2 / 2 exceeds OUTLIER_FACTOR times the typical s in most features is then an outlier. Its weight in the
// precision is divided by d^2 / (2 s) of the median feature, because a vote on such a pair shows the better arm but
// hardly by how much it is better.
#pragma once

#include "numerics/buffer.hpp"

namespace duelist {

// What the arms of a round say about the scale: whether it differs, whether it is far smaller, and the scale to decide
// with.
struct RoundScale {
    bool differs = false, smaller = false;
    AlignedDoubles squared;
};

struct FeatureScale {
    static constexpr double RESCALE_FACTOR = 8.0;
    static constexpr double FIRST_WINDOW = 4.0;
    static constexpr double OUTLIER_FACTOR = 64.0;
    static constexpr i64 MIN_ARMS = 4, SAMPLE_SIZE = 256;  // fewest arms that show a scale, and how many suffice
    static constexpr i64 MAX_EARLY_VOTES = 64;             // light votes could otherwise be many

    bool adaptive = false;             // whether the scale adapts to votes
    bool first_arms_atypical = false;  // see above
    bool just_found_atypical = false;  // set by the last call of `observe`
    AlignedDoubles squared;            // s of each feature
    AlignedDoubles sum, largest;       // of d^2 / 2 in the present window, weighted
    AlignedDoubles magnitude;          // the largest among the first arms; its rounding error counts as no difference
    std::vector<char> unknown;         // whether no two arms have differed in the feature yet
    double window_weight = 0.0, window_length = FIRST_WINDOW;
    AlignedDoubles typical;  // s since atypical first arms were found; 0 where it is unknown

    explicit FeatureScale(i64 dim)
        : squared(dim),
          sum(dim),
          largest(dim),
          magnitude(dim),
          unknown(static_cast<std::size_t>(dim), 0),
          typical(dim) {
        for (i64 k = 0; k < dim; k++) squared[k] = 1.0;
    }

    // Start adapting from these first arms.
    void start(const double* arms, i64 n, i64 dim) {
        adaptive = true;
        std::fill(unknown.begin(), unknown.end(), 1);
        for (i64 a = 0; a < n; a++)
            for (i64 k = 0; k < dim; k++) magnitude[k] = std::max(magnitude[k], std::fabs(arms[a * dim + k]));
    }

    // Count an outcome; return whether the scale should change to `wanted`. A weight of 2 equals the same outcome
    // twice, so that one outcome can end several windows.
    bool observe(const double* z, i64 dim, double weight, AlignedDoubles& wanted) {
        if (!adaptive) return false;
        bool fresh = scales_unknown(z, dim);
        if (!fresh && window_weight + weight < window_length) {
            accumulate(z, dim, weight);
            return false;
        }
        wanted = squared;
        if (fresh) scale_by_difference(z, dim, wanted);
        bool changed = fresh;
        while (window_weight + weight >= window_length) {
            double part = window_length - window_weight;
            accumulate(z, dim, part);
            weight -= part;
            changed |= end_window(dim, wanted);
        }
        if (weight > 0.0) accumulate(z, dim, weight);
        return changed;
    }

    // Scale unknown features by the arms of a round; return whether any got a scale, and all scales in `wanted`.
    bool scale_unknown(const double* arms, i64 n, i64 dim, AlignedDoubles& wanted) {
        bool changed = false;
        for (i64 k = 0; k < dim; k++) {
            char& is_unknown = unknown[static_cast<std::size_t>(k)];
            double variance = is_unknown ? variance_in(k, arms + k, n, dim) : 0.0;
            if (!usable(variance)) continue;
            if (!changed) wanted = squared;
            changed = true;
            wanted[k] = variance;
            is_unknown = 0;
        }
        return changed;
    }

    // The weight of a difference in the precision: 1, or less for an outlier.
    double influence(const double* z, i64 dim, i64 step = 1) const {
        if (!first_arms_atypical) return 1.0;
        std::vector<double> ratios;
        i64 far = 0;
        for (i64 k = 0; k < dim; k++) {
            if (typical[k] == 0.0) continue;
            ratios.push_back(0.5 * z[k * step] * z[k * step] / typical[k]);
            far += ratios.back() > OUTLIER_FACTOR;
        }
        i64 known = static_cast<i64>(ratios.size());
        return 2 * far > known ? 1.0 / order_statistic(ratios, (known - 1) / 2) : 1.0;
    }

    // Whether the second window has not ended, so that the first arms may still turn out to be atypical.
    bool early() const { return adaptive && window_length <= 2.0 * FIRST_WINDOW; }

    // What the arms of a round say. Unknown features take their variance among these arms: in raw units, a policy would
    // never compare an arm that is the first to differ in one.
    RoundScale inspect(const double* arms, i64 n, i64 dim) const {
        RoundScale seen = early() ? inspect_known(arms, n, dim) : RoundScale{};
        if (!any_unknown()) return seen;
        for (i64 k = 0; k < dim; k++) {
            double variance = unknown[static_cast<std::size_t>(k)] ? variance_in(k, arms + k, n, dim) : 0.0;
            if (!usable(variance)) continue;
            if (!seen.differs) seen = {true, false, squared};
            seen.squared[k] = variance;
        }
        return seen;
    }

    // As above, for features with a scale.
    RoundScale inspect_known(const double* arms, i64 n, i64 dim) const {
        bool wider = is_wider(arms, n, dim),
             smaller = are_smaller(arms, n, dim, SAMPLE_SIZE) && are_smaller(arms, n, dim, n);
        if (!wider && !smaller) return {};
        RoundScale seen{true, smaller, squared};
        for (i64 k = 0; k < dim; k++) {
            bool speaks = !unknown[static_cast<std::size_t>(k)] && (smaller || is_wide(arms, n, dim, k));
            double variance = speaks ? variance_in(k, arms + k, n, dim) : 0.0;
            if (usable(variance)) seen.squared[k] = variance;
        }
        return seen;
    }

    void accept(const RoundScale& seen, i64 dim) {
        if (seen.smaller) set_typical_scale(dim, seen.squared);
    }

    bool any_unknown() const { return adaptive && std::find(unknown.begin(), unknown.end(), 1) != unknown.end(); }

    // The variance of n numbers, `stride` apart; exactly zero if they differ by no more than the rounding error of
    // numbers of size `largest`.
    static double variance_of(const double* x, i64 n, i64 stride, double largest = 0.0) {
        double mean = 0.0, total = 0.0;
        for (i64 a = 0; a < n; a++) {
            mean += (x[a * stride] - x[0]) / static_cast<double>(n);
            largest = std::max(largest, std::fabs(x[a * stride]));
        }
        for (i64 a = 0; a < n; a++) {
            double gap = (x[a * stride] - x[0]) - mean;
            total += gap * gap;
        }
        double variance = total / static_cast<double>(n), rounding = ROUNDING * largest;
        return variance > rounding * rounding ? variance : 0.0;
    }

private:
    static constexpr double ROUNDING = 0x1p-40;  // relative rounding error of features

    static bool usable(double half) { return half > std::numeric_limits<double>::min() && half < 1e300; }

    double variance_in(i64 k, const double* x, i64 n, i64 stride) const {
        return variance_of(x, n, stride, magnitude[k]);
    }

    // Whether the difference scales feature k, which has no scale yet.
    bool scales(i64 k, const double* z) const {
        return unknown[static_cast<std::size_t>(k)] && std::fabs(z[k]) > ROUNDING * magnitude[k] &&
               usable(0.5 * z[k] * z[k]);
    }

    bool scales_unknown(const double* z, i64 dim) const {
        for (i64 k = 0; k < dim; k++)
            if (scales(k, z)) return true;
        return false;
    }

    void accumulate(const double* z, i64 dim, double weight) {
        for (i64 k = 0; k < dim; k++) {
            double half = 0.5 * z[k] * z[k];
            sum[k] += weight * half;
            largest[k] = std::max(largest[k], half);
        }
        window_weight += weight;
    }

    void scale_by_difference(const double* z, i64 dim, AlignedDoubles& wanted) {
        for (i64 k = 0; k < dim; k++) {
            if (!scales(k, z)) continue;
            wanted[k] = 0.5 * z[k] * z[k];
            unknown[static_cast<std::size_t>(k)] = 0;
        }
    }

    bool is_wide(const double* arms, i64 n, i64 dim, i64 k) const {
        return !unknown[static_cast<std::size_t>(k)] &&
               variance_in(k, arms + k, n, dim) > OUTLIER_FACTOR * squared[k] &&
               median_square(arms + k, n, dim) > RESCALE_FACTOR * squared[k];
    }

    // The upper median of the squared distances from the lower median.
    static double median_square(const double* x, i64 n, i64 stride) {
        std::vector<double> numbers;
        for (i64 a = 0; a < n; a++) numbers.push_back(x[a * stride]);
        double middle = order_statistic(numbers, (n - 1) / 2);
        for (double& each : numbers) each = (each - middle) * (each - middle);
        return order_statistic(numbers, n / 2);
    }

    // Whether a feature varies far more among these arms. The variance is at most the largest squared distance from any
    // one of them.
    bool is_wider(const double* arms, i64 n, i64 dim) const {
        bool suspect = false;
        for (i64 a = 1; a < n; a++)
            for (i64 k = 0; k < dim; k++) {
                double gap = arms[a * dim + k] - arms[k];
                suspect |= gap * gap > OUTLIER_FACTOR * squared[k];
            }
        if (!suspect) return false;
        for (i64 k = 0; k < dim; k++)
            if (is_wide(arms, n, dim, k)) return true;
        return false;
    }

    // Whether most features vary far less among these arms, judged by about `most` of them.
    bool are_smaller(const double* arms, i64 n, i64 dim, i64 most) const {
        if (n < MIN_ARMS) return false;
        i64 every = (n + most - 1) / most, differ = 0, smaller = 0;
        for (i64 k = 0; k < dim; k++) {
            if (unknown[static_cast<std::size_t>(k)]) continue;
            double variance = variance_in(k, arms + k, (n + every - 1) / every, dim * every);
            differ += usable(variance);
            smaller += usable(variance) && OUTLIER_FACTOR * variance < squared[k];
        }
        return 2 * smaller > differ;
    }

    bool was_observed(i64 k) const { return !unknown[static_cast<std::size_t>(k)] && usable(sum[k] / window_weight); }
    bool shrinks(i64 k, const AlignedDoubles& wanted) const {
        return was_observed(k) && RESCALE_FACTOR * largest[k] < wanted[k];
    }

    // The smallest factor by which a feature may shrink (rule 3); 0 if there is none.
    double smallest_factor(i64 dim, const AlignedDoubles& wanted) const {
        std::vector<double> parts;
        i64 known = 0;
        for (i64 k = 0; k < dim; k++) {
            known += !unknown[static_cast<std::size_t>(k)];
            if (shrinks(k, wanted)) parts.push_back(sum[k] / window_weight / wanted[k]);
        }
        i64 shrunk = static_cast<i64>(parts.size());
        return 2 * shrunk > known ? 0.5 * order_statistic(parts, shrunk / 2) : 0.0;
    }

    void set_typical_scale(i64 dim, const AlignedDoubles& wanted) {
        first_arms_atypical = just_found_atypical = true;
        for (i64 k = 0; k < dim; k++) typical[k] = unknown[static_cast<std::size_t>(k)] ? 0.0 : wanted[k];
    }

    static double order_statistic(std::vector<double>& numbers, i64 rank) {
        std::nth_element(numbers.begin(), numbers.begin() + rank, numbers.end());
        return numbers[static_cast<std::size_t>(rank)];
    }

    bool end_window(i64 dim, AlignedDoubles& wanted) {
        bool changed = false;
        double floor = smallest_factor(dim, wanted);
        for (i64 k = 0; k < dim; k++) {
            double mean = sum[k] / window_weight;
            bool shrunk = shrinks(k, wanted), grown = was_observed(k) && mean >= RESCALE_FACTOR * wanted[k];
            if (shrunk) wanted[k] = std::max(mean, floor * wanted[k]);
            if (grown) wanted[k] = mean;
            changed |= shrunk || grown;
            sum[k] = largest[k] = 0.0;
        }
        if (window_length == 2.0 * FIRST_WINDOW && floor > 0.0) set_typical_scale(dim, wanted);
        window_weight = 0.0;
        window_length *= 2.0;
        return changed;
    }
};

}  // namespace duelist
