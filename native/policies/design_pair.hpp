// DesignPair: the comparison that optimal design asks for next, given all that were asked (Shen et al. 2025; Liu et al. 2026).
#pragma once

#include "../rule.hpp"

namespace duelist {

class DesignPair : public Rule {
public:
    explicit DesignPair(const Settings& s) : average_(s.flag("average")) {}

    bool local() const override { return true; }

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        if (scratch.memo.recall(table, 0.0)) return scratch.memo.last;
        if (table.n == 1) return scratch.memo.remember({0, 0, 0, 1.0});
        View view = look_at_all(state, scratch, table, true);
        const double* turned = average_ ? turn(view, scratch.near.data()) : nullptr;
        FoundPair pair = with_link(state.link, [&](auto link) { return best(link, view, turned, table.limits(), scratch); });
        return scratch.memo.remember({pair.first, pair.second, 0, 1.0});
    }

private:
    bool average_;  // A-optimal: the variances of the arms on the table; otherwise D-optimal: the determinant of H

    // G v_a of every arm, with G = sum_a (v_a - mean)(v_a - mean)'.
    static const double* turn(const View& view, double* room) {
        i64 n = view.n, dim = view.dim, stride = view.stride;
        for (i64 k = 0; k < dim; k++) {
            const double* row = view.v + k * stride;
            double mean = 0.0;
            for (i64 a = 0; a < n; a++) mean += row[a];
            mean /= static_cast<double>(n);
            for (i64 a = 0; a < n; a++) room[k * stride + a] = row[a] - mean;
        }
        Numbers spread(dim * dim);
        for (i64 k = 0; k < dim; k++)
            for (i64 l = k; l < dim; l++) {
                spread[k * dim + l] = kernels->dot(room + k * stride, room + l * stride, n);
                spread[l * dim + k] = spread[k * dim + l];
            }
        for (i64 k = 0; k < dim; k++) {
            double* out = room + k * stride;
            for (i64 a = 0; a < n; a++) out[a] = 0.0;
            for (i64 l = 0; l < dim; l++)
                for (i64 a = 0; a < n; a++) out[a] += spread[k * dim + l] * view.v[l * stride + a];
        }
        return room;
    }

    // z'Gz of the pairs of arm i with the arms after it.
    static void shared_variances(const View& view, const double* turned, i64 i, double* out) {
        for (i64 j = i + 1; j < view.n; j++) out[j - i - 1] = 0.0;
        for (i64 k = 0; k < view.dim; k++) {
            const double *row = view.v + k * view.stride, *other = turned + k * view.stride;
            for (i64 j = i + 1; j < view.n; j++) out[j - i - 1] += (row[i] - row[j]) * (other[i] - other[j]);
        }
    }

    // By how much one more outcome lowers the sum of variances (`shared` given), or raises det H, up to what grows with it.
    static double worth(double slope, double square, const double* shared, i64 at) {
        return shared ? slope * shared[at] / (1.0 + slope * square) : slope * square;
    }

    // argmax over allowed i < j; equal ones: the first.
    template <class L>
    static FoundPair best(L, const View& view, const double* turned, const Limits& limits, Scratch& scratch) {
        FoundPair found = NO_PAIR;
        double *squares = scratch.line.data(), *shared = turned ? scratch.near_u.data() : nullptr;
        for (i64 i = 0; i + 1 < view.n; i++) {
            kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, view.n, squares);
            if (turned) shared_variances(view, turned, i, shared);
            for (i64 j = i + 1; j < view.n; j++) {
                i64 at = j - i - 1;
                // What a pair is worth grows with the slope; most pairs need no exponential.
                if (found.first >= 0 && worth(L::max_slope, squares[at], shared, at) < found.value) continue;
                double value = worth(L::slope(view.u[i] - view.u[j]), squares[at], shared, at);
                if ((found.first < 0 || value > found.value) && limits.allows(i, j)) found = {i, j, value};
            }
        }
        return found;
    }
};

}  // namespace duelist
