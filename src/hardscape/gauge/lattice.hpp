// A gauge field in vector registers, and the transformation g that fixes its gauge.
#pragma once

#include <algorithm>
#include <barrier>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "gauge/layout.hpp"
#include "gauge/local.hpp"

namespace hardscape::gauge {

using Complex = std::complex<double>;

// Purpose of the random stream that a copy starts from; sweeps are numbered from 0.
inline constexpr std::uint64_t kStart = ~std::uint64_t{0};

// Calls body(thread) on each of `threads` threads, the caller's among them, and waits.
template <class Body>
void run_threads(int threads, const Body& body) {
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([&body, i] { body(i); });
  body(0);
}

// What is asked of a lattice, whatever its group, precision and lanes. Arrays run t, z, y, x (,
// mu), row, column.
class AnyLattice {
 public:
  virtual ~AnyLattice() = default;
  // Brings g to the group in this precision.
  virtual void set_transformation(const Complex* g) = 0;
  // g from the Haar measure, a function of seed and site.
  virtual void randomize(std::uint64_t seed) = 0;
  virtual void transformation(Complex* g) const = 0;
  virtual void transformed_links(Complex* links) const = 0;
  virtual int sweep(Method method, const Step& step, std::uint64_t seed, std::uint64_t first,
                    int count, const std::uint8_t* active, int threads,
                    const volatile std::uint8_t* stop) = 0;
  // Of each site: its functional (links counted from both ends), and tr Delta Delta^dagger / Nc.
  virtual void measure(double* functional, double* theta, int threads) const = 0;
  // Delta of each site.
  virtual void gradient(Complex* delta, int threads) const = 0;
};

template <int N, class T, int W, template <int, class> class Local>
class Lattice final : public AnyLattice {
  using V = Packed<T, W>;
  using M = Matrix<N, V>;

 public:
  Lattice(const Layout& layout, const Complex* links, const double* weights)
      : layout_(layout), links_(4 * static_cast<std::size_t>(layout.vectors())) {
    g_.resize(layout_.vectors(), M::identity());
    each_site([&](int v, int lane, std::size_t site) {
      for (int mu = 0; mu < 4; ++mu) {
        const Complex* u = links + (4 * site + mu) * N * N;
        put(links_[4 * static_cast<std::size_t>(v) + mu], lane, u, weights[mu]);
      }
    });
  }

  void set_transformation(const Complex* g) override {
    each_site([&](int v, int lane, std::size_t site) { put(g_[v], lane, g + site * N * N, 1); });
    for (M& g : g_) unitarize(g);
  }

  void randomize(std::uint64_t seed) override {
    each_site([&](int v, int lane, std::size_t site) {
      RandomStream random(seed, site, kStart);
      const Matrix<N, double> a = random_element<N>(random);
      for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
          set_lane(g_[v].re[i][j], lane, static_cast<T>(a.re[i][j]));
          set_lane(g_[v].im[i][j], lane, static_cast<T>(a.im[i][j]));
        }
      }
    });
    for (M& g : g_) unitarize(g);
  }

  void transformation(Complex* g) const override {
    each_site([&](int v, int lane, std::size_t site) { get(g_[v], lane, g + site * N * N); });
  }

  void transformed_links(Complex* links) const override {
    each_vector(0, layout_.vectors(), [&](int v) {
      for (int mu = 0; mu < 4; ++mu) {
        const M u = multiply(g_[v], ahead(v, mu));
        for (int lane = 0; lane < W; ++lane) {
          get(u, lane, links + (4 * static_cast<std::size_t>(layout_.site(v, lane)) + mu) * N * N);
        }
      }
    });
  }

  int sweep(Method method, const Step& step, std::uint64_t seed, std::uint64_t first, int count,
            const std::uint8_t* active, int threads, const volatile std::uint8_t* stop) override {
    const std::vector<std::vector<int>> moving = moving_vectors(active);
    std::barrier barrier(threads);
    // Read by all threads between two barriers, written by one of them beside the other.
    bool stopped = false;
    int done = 0;
    run_threads(threads, [&](int thread) {
      for (int n = 0; n < count; ++n) {
        barrier.arrive_and_wait();
        if (thread == 0) {
          stopped = *stop != 0;
          done += !stopped;
        }
        for (const std::vector<int>& color : moving) {
          barrier.arrive_and_wait();
          if (stopped) return;
          const std::size_t size = color.size();
          const std::size_t from = size * thread / threads, to = size * (thread + 1) / threads;
          for (std::size_t i = from; i < to; ++i) update(color[i], method, step, seed, first + n);
        }
      }
    });
    return done;
  }

  void measure(double* functional, double* theta, int threads) const override {
    each_in_parallel(threads, [&](int v) {
      const Local<N, V> local = visit(v);
      const V f = local.functional(g_[v]), t = violation(local.gradient(g_[v]));
      for (int lane = 0; lane < W; ++lane) {
        const int site = layout_.site(v, lane);
        functional[site] = lane_of(f, lane);
        theta[site] = lane_of(t, lane);
      }
    });
  }

  void gradient(Complex* delta, int threads) const override {
    each_in_parallel(threads, [&](int v) {
      const M local = visit(v).gradient(g_[v]);
      for (int lane = 0; lane < W; ++lane) {
        get(local, lane, delta + static_cast<std::size_t>(layout_.site(v, lane)) * N * N);
      }
    });
  }

 private:
  static T lane_of(const V& x, int lane) {
    if constexpr (W == 1) {
      return x;
    } else {
      return x[lane];
    }
  }

  static void set_lane(V& x, int lane, T value) {
    if constexpr (W == 1) {
      x = value;
    } else {
      x[lane] = value;
    }
  }

  static void put(M& m, int lane, const Complex* from, double weight) {
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        set_lane(m.re[i][j], lane, static_cast<T>(weight * from[N * i + j].real()));
        set_lane(m.im[i][j], lane, static_cast<T>(weight * from[N * i + j].imag()));
      }
    }
  }

  static void get(const M& m, int lane, Complex* to) {
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        to[N * i + j] = Complex(lane_of(m.re[i][j], lane), lane_of(m.im[i][j], lane));
      }
    }
  }

  template <class Body>
  void each_vector(int from, int to, const Body& body) const {
    for (int v = from; v < to; ++v) body(v);
  }

  template <class Body>
  void each_site(const Body& body) const {
    for (int v = 0; v < layout_.vectors(); ++v) {
      for (int lane = 0; lane < W; ++lane) body(v, lane, layout_.site(v, lane));
    }
  }

  template <class Body>
  void each_in_parallel(int threads, const Body& body) const {
    const long size = layout_.vectors();
    run_threads(threads, [&](int thread) {
      each_vector(static_cast<int>(size * thread / threads),
                  static_cast<int>(size * (thread + 1) / threads), body);
    });
  }

  static M permuted(const M& m, const std::int32_t* lanes) {
    M result;
    if constexpr (W > 1) {
      for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
          for (int lane = 0; lane < W; ++lane) {
            result.re[i][j][lane] = m.re[i][j][lanes[lane]];
            result.im[i][j][lane] = m.im[i][j][lanes[lane]];
          }
        }
      }
    }
    return result;
  }

  // U_mu(x) g(x+mu)^dagger
  M ahead(int v, int mu) const {
    const M& u = links_[4 * static_cast<std::size_t>(v) + mu];
    const M& g = g_[layout_.neighbor(v, mu)];
    const std::int32_t* lanes = layout_.lanes_of(v, mu);
    return multiply_adjoint(u, lanes ? permuted(g, lanes) : g);
  }

  // (g(x-mu) U_mu(x-mu))^dagger
  M behind(int v, int mu) const {
    const int n = layout_.neighbor(v, 4 + mu);
    const M a = adjoint(multiply(g_[n], links_[4 * static_cast<std::size_t>(n) + mu]));
    const std::int32_t* lanes = layout_.lanes_of(v, 4 + mu);
    return lanes ? permuted(a, lanes) : a;
  }

  Local<N, V> gathered(int v) const {
    Local<N, V> local;
    for (int mu = 0; mu < layout_.directions(); ++mu) {
      local.gather(ahead(v, mu));
      local.gather(behind(v, mu));
    }
    return local;
  }

  Local<N, V> visit(int v) const {
    Local<N, V> local = gathered(v);
    local.begin(g_[v]);
    return local;
  }

  // Vectors of each colour with a site in an active timeslice.
  std::vector<std::vector<int>> moving_vectors(const std::uint8_t* active) const {
    std::vector<std::vector<int>> moving(layout_.colors());
    for (int color = 0; color < layout_.colors(); ++color) {
      each_vector(layout_.first(color), layout_.first(color + 1), [&](int v) {
        bool any = false;
        for (int lane = 0; lane < W; ++lane) any |= active[layout_.slice(v, lane)] != 0;
        if (any) moving[color].push_back(v);
      });
    }
    return moving;
  }

  void update(int v, Method method, const Step& step, std::uint64_t seed, std::uint64_t sweep) {
    Local<N, V> local = gathered(v);
    M g = g_[v];
    const V omega = V{} + static_cast<T>(step.omega);
    if (method == Method::Matrix) {
      update_matrix(local, g, omega);
    } else if (method == Method::Heatbath) {
      heatbath(local, g, v, step, seed, sweep);
      unitarize(g);
    } else {
      const V second = V{} + static_cast<T>(step.second);
      if (step.probability < 1) {
        const V drawn = drawn_omega(v, step, seed, sweep);
        update_subgroups(local, g, drawn, static_cast<T>(0.5) * drawn * (drawn - T(1)));
      } else {
        update_subgroups(local, g, omega, second);
      }
      unitarize(g);
    }
    g_[v] = g;
  }

  // omega with the step's probability, else 1.
  V drawn_omega(int v, const Step& step, std::uint64_t seed, std::uint64_t sweep) const {
    V omega{};
    for (int lane = 0; lane < W; ++lane) {
      RandomStream random(seed, layout_.site(v, lane), sweep);
      const bool over = random.uniform() < step.probability;
      set_lane(omega, lane, static_cast<T>(over ? step.omega : 1.0));
    }
    return omega;
  }

  void heatbath(Local<N, V>& local, M& g, int v, const Step& step, std::uint64_t seed,
                std::uint64_t sweep) const {
    std::vector<RandomStream> random;
    for (int lane = 0; lane < W; ++lane) random.emplace_back(seed, layout_.site(v, lane), sweep);
    local.begin(g);
    for_subgroups<N>([&](int i, int j) {
      V strength;
      const Quaternion<V> best = local.best(g, i, j, strength);
      Quaternion<V> r{};
      for (int lane = 0; lane < W; ++lane) {
        const Quaternion<double> target{lane_of(best.a0, lane), lane_of(best.a1, lane),
                                        lane_of(best.a2, lane), lane_of(best.a3, lane)};
        const double k = lane_of(strength, lane) / step.temperature;
        const Quaternion<double> drawn = Local<N, V>::heatbath(target, k, random[lane]);
        set_lane(r.a0, lane, static_cast<T>(drawn.a0));
        set_lane(r.a1, lane, static_cast<T>(drawn.a1));
        set_lane(r.a2, lane, static_cast<T>(drawn.a2));
        set_lane(r.a3, lane, static_cast<T>(drawn.a3));
      }
      local.rotate(i, j, r);
      rotate_rows(g, i, j, r);
    });
  }

  Layout layout_;
  std::vector<M> links_;  // [vector][mu], times the weight of mu
  std::vector<M> g_;      // [vector]
};

}  // namespace hardscape::gauge
