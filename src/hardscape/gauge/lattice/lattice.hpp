// A gauge field in vector registers, and the transformation g that fixes its gauge.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gauge/group/algebra.hpp"
#include "gauge/lattice/local.hpp"
#include "gauge/links/layout.hpp"
#include "gauge/links/team.hpp"

namespace hardscape::gauge {

using Complex = std::complex<double>;

// Purpose of the random stream that a copy starts from; sweeps are numbered from 0.
inline constexpr std::uint64_t kStart = ~std::uint64_t{0};

// Links that take more memory than this are read from it in every sweep.
inline constexpr std::size_t kCacheBytes = std::size_t{4} << 20;

// Which sites of active timeslices move: those of one colour, or of all where it is negative; those
// that a window's neighbours have copies of, or the others, or all.
struct Which {
  int color = -1;
  enum Sides { kAll, kSides, kInner } sides = kAll;
};

// Sweeps that the threads of a team do together.
struct Sweeps {
  Method method;
  Step step;
  std::uint64_t seed, first;  // of random numbers; number of the first sweep
  int count;
  std::vector<std::uint8_t> active;      // timeslices that move
  std::vector<std::vector<int>> stages;  // vectors that move at the same time
  const volatile std::uint8_t* stop;
  Steps steps;
  // Read by all threads between two steps, written by one of them beside the other.
  bool stopped = false;
  int done = 0;
};

// What is asked of a lattice, whatever its group, precision and vectors; what takes a share does
// that of one thread. Arrays run t, ..., y, x (, mu), row, column.
class AnyLattice {
 public:
  virtual ~AnyLattice() = default;
  // Brings g to the group in this precision.
  virtual void set_transformation(const Complex* g) = 0;
  // g from the Haar measure, a function of seed and site.
  virtual void randomize(std::uint64_t seed) = 0;
  virtual void transformation(Complex* g) const = 0;
  // g where a direction has a coordinate, number for number.
  virtual void face(int mu, int at, Complex* g) const = 0;
  virtual void set_face(int mu, int at, const Complex* g) = 0;
  virtual int colors() const = 0;
  // Vectors with a site in an active timeslice, in the order of sweeps.
  virtual std::vector<std::vector<int>> moving_stages(const std::uint8_t* active,
                                                      const Which& which) const = 0;
  virtual void sweep(Sweeps& sweeps, int rank) = 0;
  // Of each site: its functional (links counted from both ends), and tr Delta Delta^dagger / Nc.
  virtual void measure(double* functional, double* theta, const Share& share) const = 0;
  // Delta of each site, packed: component, t, ..., y, x.
  virtual void gradient(Complex* delta, const Share& share) const = 0;
  // g <- exp(step[t] direction) g, with a direction packed in the same way.
  virtual void move(const Complex* direction, const double* step, const Share& share) = 0;
};

// Links and g in vector registers: what does not depend on the gauge.
template <int N, class T, int W>
class Transformation : public AnyLattice {
 public:
  Transformation(const Layout& layout, const Complex* links, const double* weights)
      : layout_(layout),
        time_weight_(static_cast<T>(weights[layout.time()])),
        links_(layout.link(layout.vectors(), 0)) {
    g_.resize(layout_.vectors(), M::identity());
    by_slice_.resize(layout.local_slices());
    for (int v = 0; v < layout.vectors(); ++v) by_slice_[layout.local_slice(v)].push_back(v);
    slices_.resize(static_cast<std::size_t>(layout_.vectors()) * W);
    each_site([&](int v, int lane, std::size_t site) {
      slices_[static_cast<std::size_t>(v) * W + lane] = layout_.slice(v, lane);
      for (int mu = 0; mu < layout_.dimensions(); ++mu) {
        const std::size_t link = layout_.dimensions() * site + mu;
        put(links_[layout_.link(v, mu)], lane, links + link * N * N);
      }
    });
  }

  void set_transformation(const Complex* g) override {
    each_site([&](int v, int lane, std::size_t site) { put(g_[v], lane, g + site * N * N); });
    for (M& g : g_) unitarize(g);
  }

  void randomize(std::uint64_t seed) override {
    each_site([&](int v, int lane, std::size_t) {
      RandomStream random(seed, layout_.whole_site(v, lane), kStart);
      const auto a = random_element<N>(random);
      each_number([lane](V& x, double y) { set_lane(x, lane, static_cast<T>(y)); }, g_[v], a);
    });
    for (M& g : g_) unitarize(g);
  }

  void transformation(Complex* g) const override {
    each_site([&](int v, int lane, std::size_t site) { get(g_[v], lane, g + site * N * N); });
  }

  void face(int mu, int at, Complex* g) const override {
    each_site_of(mu, at, [&](int v, int lane, std::size_t i) { get(g_[v], lane, g + i * N * N); });
  }

  void set_face(int mu, int at, const Complex* g) override {
    each_site_of(mu, at, [&](int v, int lane, std::size_t i) { put(g_[v], lane, g + i * N * N); });
  }

  int colors() const override { return layout_.colors(); }

  // In stages of which each waits for the one before: one colour after the other. Where the links
  // do not fit the cache, stages are as thin as a timeslice, and colour 1 follows a slice behind
  // colour 0, to find links where they just were. Its slice 0 borders on the last one, so it comes
  // last.
  std::vector<std::vector<int>> moving_stages(const std::uint8_t* active,
                                              const Which& which) const override {
    const int slices = layout_.local_slices(), only = which.color;
    const bool thin = only < 0 && layout_.colors() == 2 && slices >= 4 &&
                      links_.size() * sizeof links_[0] > kCacheBytes;
    const int per_color = thin ? slices : 1;
    std::vector<std::vector<int>> found(layout_.colors() * per_color), stages;
    for (int color = 0; color < layout_.colors(); ++color) {
      if (only >= 0 && color != only) continue;
      for (int v = layout_.first(color); v < layout_.first(color + 1); ++v) {
        const int part = thin ? layout_.local_slice(v) : 0;
        if (moves(v, active) && meant(v, which)) found[color * per_color + part].push_back(v);
      }
    }
    if (!thin) return found;
    for (int part = 0; part <= slices; ++part) {
      if (part < slices) stages.push_back(found[part]);
      if (part >= 2) stages.push_back(found[slices + part - 1]);
    }
    stages.push_back(found[slices]);
    return stages;
  }

  void move(const Complex* direction, const double* step, const Share& share) override {
    each_vector(share, [&](int v) {
      Algebra<N, V> packed;
      for (int c = 0; c < Algebra<N, V>::kSize; ++c) {
        for (int lane = 0; lane < W; ++lane) {
          const int site = layout_.site(v, lane);
          const Complex x = step[site / layout_.slice_volume()] * direction[c * volume() + site];
          set_lane(packed.re[c], lane, static_cast<T>(x.real()));
          set_lane(packed.im[c], lane, static_cast<T>(x.imag()));
        }
      }
      g_[v] = moved(g_[v], packed.unpack());
    });
  }

 protected:
  using V = Packed<T, W>;
  using M = Matrix<N, V>;

  std::size_t volume() const {
    return static_cast<std::size_t>(layout_.slices()) * layout_.slice_volume();
  }

  template <class Body>
  void each_vector(const Share& share, const Body& body) const {
    const int last = share.last(layout_.vectors());
    for (int v = share.first(layout_.vectors()); v < last; ++v) body(v);
  }

  template <class Body>
  void each_site(const Body& body) const {
    for (int v = 0; v < layout_.vectors(); ++v) {
      for (int lane = 0; lane < W; ++lane) body(v, lane, layout_.site(v, lane));
    }
  }

  // Where direction mu has a coordinate, with the number of the site there.
  template <class Body>
  void each_site_of(int mu, int at, const Body& body) const {
    const auto look = [&](int v) {
      for (int lane = 0; lane < W; ++lane) {
        if (layout_.place(v, lane, mu) == at) body(v, lane, layout_.number_there(v, lane, mu));
      }
    };
    if (mu == layout_.time()) {
      for (const int v : by_slice_[at % layout_.local_slices()]) look(v);
    } else {
      for (int v = 0; v < layout_.vectors(); ++v) look(v);
    }
  }

  // Small matrices of a few cache lines each, all over the lattice: too short for the processor to
  // see them coming.
  void prefetch(int v) const {
    for (int mu = 0; mu < layout_.directions(); ++mu) {
      const int last = layout_.neighbor(v, layout_.back(mu));
      fetch(&links_[layout_.link(v, mu)], sizeof links_[0]);
      fetch(&links_[layout_.link(last, mu)], sizeof links_[0]);
      fetch(&g_[layout_.neighbor(v, mu)], sizeof g_[0]);
      fetch(&g_[last], sizeof g_[0]);
    }
  }

  static void fetch(const void* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 64) {
      __builtin_prefetch(static_cast<const char*>(from) + at);
    }
  }

  // Lanes of timeslices that are not active stay as they are.
  void keep_resting(int v, M& g, const std::uint8_t* active) const {
    for (int lane = 0; lane < W; ++lane) {
      if (active[slices_[static_cast<std::size_t>(v) * W + lane]]) continue;
      for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
          set_lane(g.re[i][j], lane, lane_of(g_[v].re[i][j], lane));
          set_lane(g.im[i][j], lane, lane_of(g_[v].im[i][j], lane));
        }
      }
    }
  }

  Layout layout_;
  T time_weight_;
  std::vector<Rows<N, V>> links_;  // [vector][mu]
  std::vector<M> g_;               // [vector]

 private:
  bool meant(int v, const Which& which) const {
    if (layout_.rests(v)) return false;
    return which.sides == Which::kAll || layout_.borders(v) == (which.sides == Which::kSides);
  }

  bool moves(int v, const std::uint8_t* active) const {
    for (int lane = 0; lane < W; ++lane) {
      if (active[slices_[static_cast<std::size_t>(v) * W + lane]]) return true;
    }
    return false;
  }

  std::vector<int> slices_;                 // timeslice of [vector][lane]
  std::vector<std::vector<int>> by_slice_;  // vectors of each timeslice of a block
};

template <int N, class T, int W, template <int, class> class Local>
class Lattice final : public Transformation<N, T, W> {
  using Base = Transformation<N, T, W>;
  using Base::each_vector, Base::g_, Base::layout_, Base::links_, Base::time_weight_, Base::volume;
  using typename Base::M, typename Base::V;

 public:
  using Base::Base;

  void sweep(Sweeps& sweeps, int rank) override {
    const Share share = sweeps.steps.share(rank);
    for (int n = 0; n < sweeps.count; ++n) {
      sweeps.steps.wait();
      if (rank == 0) {
        sweeps.stopped = *sweeps.stop != 0;
        sweeps.done += !sweeps.stopped;
      }
      for (const std::vector<int>& stage : sweeps.stages) {
        sweeps.steps.wait();
        if (sweeps.stopped) return;
        const int last = share.last(stage.size());
        for (int i = share.first(stage.size()); i < last; ++i) {
          if (N < 4 && i + 1 < last) this->prefetch(stage[i + 1]);
          update(stage[i], sweeps, sweeps.first + n);
        }
      }
    }
  }

  void measure(double* functional, double* theta, const Share& share) const override {
    each_vector(share, [&](int v) {
      const Local<N, V> local = visit(v);
      const V f = local.functional(g_[v]), t = violation(local.gradient(g_[v]));
      for (int lane = 0; lane < W; ++lane) {
        const int site = layout_.site(v, lane);
        functional[site] = lane_of(f, lane);
        theta[site] = lane_of(t, lane);
      }
    });
  }

  void gradient(Complex* delta, const Share& share) const override {
    each_vector(share, [&](int v) {
      const auto packed = Algebra<N, V>::pack(visit(v).gradient(g_[v]));
      for (int c = 0; c < Algebra<N, V>::kSize; ++c) {
        for (int lane = 0; lane < W; ++lane) {
          delta[c * volume() + layout_.site(v, lane)] =
              Complex(lane_of(packed.re[c], lane), lane_of(packed.im[c], lane));
        }
      }
    });
  }

 private:
  // U_mu(x) g(x+mu)^dagger
  M ahead(int v, int mu) const {
    const Rows<N, V>& u = links_[layout_.link(v, mu)];
    const M& g = g_[layout_.neighbor(v, mu)];
    return group_product_adjoint(u, permuted(g, layout_.lanes_of(v, mu)));
  }

  // (g(x-mu) U_mu(x-mu))^dagger
  M behind(int v, int mu) const {
    const int n = layout_.neighbor(v, layout_.back(mu));
    const M u = completed(links_[layout_.link(n, mu)]);
    const M a = adjoint(group_product(g_[n], u));
    return permuted(a, layout_.lanes_of(v, layout_.back(mu)));
  }

  Local<N, V> gathered(int v) const {
    Local<N, V> local;
    for (int mu = 0; mu < layout_.directions(); ++mu) {
      local.gather(weighed(ahead(v, mu), mu));
      local.gather(weighed(behind(v, mu), mu));
    }
    return local;
  }

  M weighed(const M& a, int mu) const {
    return mu == layout_.time() && time_weight_ != 1 ? scaled(a, V{} + time_weight_) : a;
  }

  Local<N, V> visit(int v) const {
    Local<N, V> local = gathered(v);
    local.begin(g_[v]);
    return local;
  }

  void update(int v, const Sweeps& sweeps, std::uint64_t number) {
    const Step& step = sweeps.step;
    Local<N, V> local = gathered(v);
    M g = g_[v];
    const V omega = V{} + static_cast<T>(step.omega);
    if (sweeps.method == Method::Matrix) {
      update_matrix(local, g, omega);
    } else if (sweeps.method == Method::Heatbath) {
      heatbath(local, g, v, step, sweeps.seed, number);
      unitarize(g);
    } else {
      const V second = V{} + static_cast<T>(step.second);
      if (step.probability < 1) {
        const V drawn = drawn_omega(v, step, sweeps.seed, number);
        update_subgroups(local, g, drawn, static_cast<T>(0.5) * drawn * (drawn - T(1)));
      } else {
        update_subgroups(local, g, omega, second);
      }
      unitarize(g);
    }
    this->keep_resting(v, g, sweeps.active.data());
    g_[v] = g;
  }

  // omega with the step's probability, else 1.
  V drawn_omega(int v, const Step& step, std::uint64_t seed, std::uint64_t sweep) const {
    V omega{};
    for (int lane = 0; lane < W; ++lane) {
      RandomStream random(seed, layout_.whole_site(v, lane), sweep);
      const bool over = random.uniform() < step.probability;
      set_lane(omega, lane, static_cast<T>(over ? step.omega : 1.0));
    }
    return omega;
  }

  void heatbath(Local<N, V>& local, M& g, int v, const Step& step, std::uint64_t seed,
                std::uint64_t sweep) const {
    std::vector<RandomStream> random;
    for (int lane = 0; lane < W; ++lane) {
      random.emplace_back(seed, layout_.whole_site(v, lane), sweep);
    }
    local.begin(g);
    for_subgroups<N>([&](int i, int j) {
      V strength;
      const Quaternion<V> best = local.best(g, i, j, strength);
      Quaternion<V> r{};
      for (int lane = 0; lane < W; ++lane) {
        const Quaternion<T> target{lane_of(best.a0, lane), lane_of(best.a1, lane),
                                   lane_of(best.a2, lane), lane_of(best.a3, lane)};
        const T k = lane_of(strength, lane) / static_cast<T>(step.temperature);
        const Quaternion<T> drawn = Local<N, V>::heatbath(target, k, random[lane]);
        set_lane(r.a0, lane, drawn.a0);
        set_lane(r.a1, lane, drawn.a1);
        set_lane(r.a2, lane, drawn.a2);
        set_lane(r.a3, lane, drawn.a3);
      }
      local.rotate(i, j, r);
      rotate_rows(g, i, j, r);
    });
  }
};

}  // namespace hardscape::gauge
