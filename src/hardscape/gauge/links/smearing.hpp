// Smeared links, for observables that are to see less of the shortest distances.
//
// APE: M. Albanese et al., Phys. Lett. B 192, 163 (1987), with the nearest element of the group.
// Stout: C. Morningstar, M. Peardon, Phys. Rev. D 69, 054501 (2004).
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "gauge/group/algebra.hpp"
#include "gauge/links/placed.hpp"
#include "gauge/links/team.hpp"

namespace hardscape::gauge {

// Steps that the threads of a team do together.
struct SmearingSteps {
  double weight;  // alpha of APE, rho of stout
  bool stout;
  int directions;  // of links and staples: those in space, or all
  int count;
  Steps steps;
};

class AnySmearing {
 public:
  virtual ~AnySmearing() = default;
  virtual void links(std::complex<double>* links) const = 0;
  // The share of one thread.
  virtual void run(SmearingSteps& steps, int rank) = 0;
};

template <int N, int W>
class Smearing final : public AnySmearing, PlacedLinks<N, W> {
  using Placed = PlacedLinks<N, W>;
  using Placed::layout_;
  using Placed::link;
  using Placed::links_;
  using typename Placed::M;
  using typename Placed::V;

 public:
  Smearing(const Layout& layout, const std::complex<double>* links)
      : Placed(layout, links), next_(links_) {}

  void links(std::complex<double>* links) const override { Placed::copy_to(links); }

  void run(SmearingSteps& steps, int rank) override {
    const Share share = steps.steps.share(rank);
    const int first = share.first(layout_.vectors()), last = share.last(layout_.vectors());
    for (int done = 0; done < steps.count; ++done) {
      for (int v = first; v < last; ++v) smear(v, steps);
      steps.steps.wait();
      for (std::size_t i = layout_.link(first, 0); i < layout_.link(last, 0); ++i) {
        links_[i] = next_[i];
      }
      steps.steps.wait();
    }
  }

 private:
  [[gnu::noinline]] void smear(int v, const SmearingSteps& steps) {
    for (int mu = 0; mu < steps.directions; ++mu) {
      M staples = M::zero();  // from the far end back, so that the link times them is a plaquette
      for (int nu = 0; nu < steps.directions; ++nu) {
        if (nu == mu) continue;
        add(staples, Placed::staple_above(v, mu, nu));
        add(staples, Placed::staple_below(v, mu, nu));
      }
      M& to = next_[layout_.link(v, mu)];
      if (steps.stout) {
        const M force = antihermitian(multiply(link(v, mu), staples));
        to = exponential(scaled(force, V{} - steps.weight), link(v, mu));
        unitarize(to);
      } else {
        M sum = scaled(adjoint(staples), V{} + steps.weight / (2 * (steps.directions - 1)));
        add(sum, scaled(link(v, mu), V{} + (1 - steps.weight)));
        to = nearest(sum);
      }
    }
  }

  // The unitary part of a matrix by Newton's iteration (N. Higham, SIAM J. Sci. Stat. Comput. 7,
  // 1160 (1986)), divided by a root of its determinant. From four colours on the inverse is left
  // out (A. Bjorck, C. Bowie, SIAM J. Numer. Anal. 8, 358 (1971)), for singular values below
  // sqrt(3).
  static M nearest(M x) {
    V square{};
    each_number([&](const V& a) { square += a * a; }, x);
    x = scaled(x, inverse_sqrt(square * (1.0 / (N > 3 ? 2.9 : N))));
    // A lane stops where it has come to rest: its steps do not depend on those beside it.
    V half = V{} + 0.5;
    bool moving = true;
    for (int step = 0; step < kNewton && moving; ++step) {
      const M inverse = near_inverse_adjoint(x);
      V change{};
      each_number(
          [&](V& a, const V& b) {
            const V d = half * (b - a);
            a += d;
            change += d * d;
          },
          x, inverse);
      moving = false;
      for (int lane = 0; lane < W; ++lane) {
        if (lane_of(change, lane) < kConverged) {
          set_lane(half, lane, 0.0);
        } else {
          moving = true;
        }
      }
    }
    V re, im;
    determinant(x, re, im);
    M turned = x;
    for (int lane = 0; lane < W; ++lane) {
      const double angle =
          -std::arg(std::complex<double>(lane_of(re, lane), lane_of(im, lane))) / N;
      set_lane(re, lane, std::cos(angle));
      set_lane(im, lane, std::sin(angle));
    }
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        turned.re[i][j] = re * x.re[i][j] - im * x.im[i][j];
        turned.im[i][j] = re * x.im[i][j] + im * x.re[i][j];
      }
    }
    unitarize(turned);  // of rounding
    return turned;
  }

  // Cofactor of an entry: of the determinant that is left without its row and column, with its
  // sign.
  static void cofactor(const M& x, int i, int j, V& re, V& im) {
    static_assert(N < 4);
    if constexpr (N == 2) {
      const double sign = i == j ? 1 : -1;
      re = sign * x.re[1 - i][1 - j];
      im = sign * x.im[1 - i][1 - j];
    } else {
      const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
      re = x.re[a][c] * x.re[b][d] - x.im[a][c] * x.im[b][d] - x.re[a][d] * x.re[b][c] +
           x.im[a][d] * x.im[b][c];
      im = x.re[a][c] * x.im[b][d] + x.im[a][c] * x.re[b][d] - x.re[a][d] * x.im[b][c] -
           x.im[a][d] * x.re[b][c];
    }
  }

  static void determinant(const M& x, V& re, V& im) {
    re = im = V{};
    if constexpr (N > 3) {
      add_determinant(x, re, im);
      return;
    } else {
      for (int j = 0; j < N; ++j) {
        V a, b;
        cofactor(x, 0, j, a, b);
        re += a * x.re[0][j] - b * x.im[0][j];
        im += a * x.im[0][j] + b * x.re[0][j];
      }
    }
  }

  // The adjoint's inverse, or 2 x - x x^dagger x, which differs from it by the square of what x
  // lacks to a unitary matrix.
  static M near_inverse_adjoint(const M& x) {
    if constexpr (N > 3) {
      M found = multiply(multiply_adjoint(x, x), x);
      each_number([](V& a, const V& b) { a = 2.0 * b - a; }, found, x);
      return found;
    } else {
      return inverse_adjoint(x);
    }
  }

  static M inverse_adjoint(const M& x) {
    V re, im;
    determinant(x, re, im);
    const V size = 1.0 / (re * re + im * im);
    M found;
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        V a, b;
        cofactor(x, i, j, a, b);  // conj(cofactor / determinant)
        found.re[i][j] = size * (a * re + b * im);
        found.im[i][j] = size * (a * im - b * re);
      }
    }
    return found;
  }

  static constexpr int kNewton = 60;
  static constexpr double kConverged = 1e-24;

  std::vector<M> next_;
};

}  // namespace hardscape::gauge
