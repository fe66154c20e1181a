// The quenched Wilson action exp((beta / Nc) sum Re tr plaquette): a Markov chain of links.
//
// A link sees its six staples only, so the conditional distribution of U_mu(x) is exp((beta / Nc)
// Re tr U A), and links of one direction that start at sites of one colour do not see one another.
// N. Cabibbo and E. Marinari, Phys. Lett. B 119, 387 (1982), move SU(2) subgroups in turn.
#pragma once

#include <barrier>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "gauge/layout.hpp"
#include "gauge/local.hpp"

namespace hardscape::gauge {

// What a sweep of the chain does, and where its random streams lie.
struct ChainStep {
  double beta;
  int overrelax;  // overrelaxation sweeps after each heatbath sweep
  std::uint64_t seed;
  std::uint64_t first;  // number of the first sweep
};

class AnyWilsonChain {
 public:
  virtual ~AnyWilsonChain() = default;
  virtual void links(std::complex<double>* links) const = 0;
  // `count` sweeps; the plaquette after each goes to `plaquettes`.
  virtual void run(const ChainStep& step, int count, int threads, double* plaquettes) = 0;
};

template <int N, int W>
class WilsonChain final : public AnyWilsonChain {
  using V = Packed<double, W>;
  using M = Matrix<N, V>;

 public:
  WilsonChain(const Layout& layout, const std::complex<double>* links)
      : layout_(layout),
        links_(4 * static_cast<std::size_t>(layout.vectors())),
        traces_(layout.vectors()) {
    each_element([&](std::size_t place, std::size_t link, int lane, int i, int j) {
      set_lane(links_[place].re[i][j], lane, links[(link * N + i) * N + j].real());
      set_lane(links_[place].im[i][j], lane, links[(link * N + i) * N + j].imag());
    });
  }

  void links(std::complex<double>* links) const override {
    each_element([&](std::size_t place, std::size_t link, int lane, int i, int j) {
      const M& u = links_[place];
      links[(link * N + i) * N + j] = {lane_of(u.re[i][j], lane), lane_of(u.im[i][j], lane)};
    });
  }

  void run(const ChainStep& step, int count, int threads, double* plaquettes) override {
    std::barrier barrier(threads);
    const auto work = [&](int thread) {
      for (int n = 0; n < count; ++n) {
        for (int kind = 0; kind <= step.overrelax; ++kind) {
          sweep(step, step.first + n, kind == 0, thread, threads, barrier);
        }
        measure(thread, threads);
        barrier.arrive_and_wait();
        // The others do not measure again before they have met this thread in the next sweep.
        if (thread == 0) plaquettes[n] = plaquette();
      }
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&work, i] { work(i); });
    work(0);
  }

 private:
  template <class Body>
  void each_element(const Body& body) const {
    for (int v = 0; v < layout_.vectors(); ++v) {
      for (int lane = 0; lane < W; ++lane) {
        const std::size_t site = layout_.site(v, lane);
        for (int mu = 0; mu < 4; ++mu) {
          for (int i = 0; i < N; ++i) {
            for (int j = 0; j < N; ++j) {
              body(4 * static_cast<std::size_t>(v) + mu, 4 * site + mu, lane, i, j);
            }
          }
        }
      }
    }
  }

  const M& link(int v, int mu) const { return links_[4 * static_cast<std::size_t>(v) + mu]; }

  // U_mu at the neighbour ahead in direction nu.
  M link_ahead(int v, int nu, int mu) const {
    return permuted(link(layout_.neighbor(v, nu), mu), layout_.lanes_of(v, nu));
  }

  // U_nu(x+mu) U_mu(x+nu)^dagger U_nu(x)^dagger
  M staple_above(int v, int mu, int nu) const {
    return multiply_adjoint(multiply_adjoint(link_ahead(v, mu, nu), link_ahead(v, nu, mu)),
                            link(v, nu));
  }

  // U_nu(y+mu)^dagger U_mu(y)^dagger U_nu(y) at y = x-nu
  M staple_below(int v, int mu, int nu) const {
    const int y = layout_.neighbor(v, 4 + nu);
    const M product = multiply(adjoint(multiply(link(y, mu), link_ahead(y, mu, nu))), link(y, nu));
    return permuted(product, layout_.lanes_of(v, 4 + nu));
  }

  LinearLocal<N, V> gathered(int v, int mu) const {
    LinearLocal<N, V> local;
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu) continue;
      local.gather(staple_above(v, mu, nu));
      local.gather(staple_below(v, mu, nu));
    }
    return local;
  }

  template <class Barrier>
  void sweep(const ChainStep& step, std::uint64_t number, bool heat, int thread, int threads,
             Barrier& barrier) {
    for (int color = 0; color < layout_.colors(); ++color) {
      const long first = layout_.first(color), size = layout_.first(color + 1) - first;
      for (int mu = 0; mu < 4; ++mu) {
        for (long v = first + size * thread / threads; v < first + size * (thread + 1) / threads;
             ++v) {
          if (heat) {
            heatbath(static_cast<int>(v), mu, step, number);
          } else {
            overrelax(static_cast<int>(v), mu);
          }
        }
        barrier.arrive_and_wait();
      }
    }
  }

  // Microcanonical: each subgroup element is reflected about the one that the staples prefer.
  // M. Creutz, Phys. Rev. D 36, 515 (1987).
  void overrelax(int v, int mu) {
    LinearLocal<N, V> local = gathered(v, mu);
    M u = link(v, mu);
    local.begin(u);
    for_subgroups<N>([&](int i, int j) {
      V strength;
      const Quaternion<V> best = local.best(u, i, j, strength);
      const Quaternion<V> r = best * best;
      local.rotate(i, j, r);
      rotate_rows(u, i, j, r);
    });
    unitarize(u);
    links_[4 * static_cast<std::size_t>(v) + mu] = u;
  }

  void heatbath(int v, int mu, const ChainStep& step, std::uint64_t number) {
    LinearLocal<N, V> local = gathered(v, mu);
    M u = link(v, mu);
    local.begin(u);
    const double coupling = step.beta / N;
    std::uint64_t subgroup = 0;
    for_subgroups<N>([&](int i, int j) {
      V strength;
      const Quaternion<V> best = local.best(u, i, j, strength);
      Quaternion<V> drawn{};
      for (int lane = 0; lane < W; ++lane) {
        const auto stream = static_cast<std::uint64_t>(layout_.site(v, lane)) * 4 + mu;
        RandomStream random(step.seed, stream, 4 * number + subgroup);
        const double x = heatbath_cosine(coupling * lane_of(strength, lane), random);
        const Quaternion<double> q = around_identity(x, random);
        set_lane(drawn.a0, lane, q.a0);
        set_lane(drawn.a1, lane, q.a1);
        set_lane(drawn.a2, lane, q.a2);
        set_lane(drawn.a3, lane, q.a3);
      }
      const Quaternion<V> r = drawn * best;
      local.rotate(i, j, r);
      rotate_rows(u, i, j, r);
      ++subgroup;
    });
    unitarize(u);
    links_[4 * static_cast<std::size_t>(v) + mu] = u;
  }

  // Re tr of the six plaquettes that start at each site, a sum a vector.
  void measure(int thread, int threads) {
    const long size = layout_.vectors();
    for (long i = size * thread / threads; i < size * (thread + 1) / threads; ++i) {
      const int v = static_cast<int>(i);
      V sum{};
      for (int mu = 0; mu < 3; ++mu) {
        LinearLocal<N, V> local;
        for (int nu = mu + 1; nu < 4; ++nu) local.gather(staple_above(v, mu, nu));
        local.begin(link(v, mu));
        sum += local.functional(link(v, mu));
      }
      double total = 0;
      for (int lane = 0; lane < W; ++lane) total += lane_of(sum, lane);
      traces_[v] = total;
    }
  }

  // The mean of what was measured, added up in one order for any number of threads.
  double plaquette() const {
    double total = 0;
    for (const double trace : traces_) total += trace;
    return total / (6.0 * N * W * static_cast<double>(traces_.size()));
  }

  Layout layout_;
  std::vector<M> links_;  // [vector][mu]
  std::vector<double> traces_;
};

}  // namespace hardscape::gauge
