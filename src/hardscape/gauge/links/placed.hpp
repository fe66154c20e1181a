// Links as they lie in vector registers, and what their neighbours make of them.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "gauge/group/matrix.hpp"
#include "gauge/links/layout.hpp"

namespace hardscape::gauge {

template <int N, int W>
class PlacedLinks {
 public:
  using V = Packed<double, W>;
  using M = Matrix<N, V>;

  PlacedLinks(const Layout& layout, const std::complex<double>* links)
      : layout_(layout), links_(layout.link(layout.vectors(), 0)) {
    each_link([&](std::size_t place, std::size_t link, int lane) {
      put(links_[place], lane, links + link * N * N);
    });
  }

  void copy_to(std::complex<double>* links) const {
    each_link([&](std::size_t place, std::size_t link, int lane) {
      get(links_[place], lane, links + link * N * N);
    });
  }

 protected:
  template <class Body>
  void each_link(const Body& body) const {
    for (int v = 0; v < layout_.vectors(); ++v) {
      for (int lane = 0; lane < W; ++lane) {
        const std::size_t site = layout_.site(v, lane);
        for (int mu = 0; mu < layout_.dimensions(); ++mu) {
          body(layout_.link(v, mu), layout_.dimensions() * site + mu, lane);
        }
      }
    }
  }

  // Links in direction mu of the sites where direction nu has a coordinate, number for number.
  void copy_face_to(int nu, int at, int mu, std::complex<double>* links) const {
    each_link_of(nu, at, mu, [&](std::size_t place, std::size_t site, int lane) {
      get(links_[place], lane, links + site * N * N);
    });
  }

  void copy_face_from(int nu, int at, int mu, const std::complex<double>* links) {
    each_link_of(nu, at, mu, [&](std::size_t place, std::size_t site, int lane) {
      put(links_[place], lane, links + site * N * N);
    });
  }

  template <class Body>
  void each_link_of(int nu, int at, int mu, const Body& body) const {
    for (int v = 0; v < layout_.vectors(); ++v) {
      for (int lane = 0; lane < W; ++lane) {
        if (layout_.place(v, lane, nu) != at) continue;
        body(layout_.link(v, mu), layout_.number_there(v, lane, nu), lane);
      }
    }
  }

  const M& link(int v, int mu) const { return links_[layout_.link(v, mu)]; }

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
    const int y = layout_.neighbor(v, layout_.back(nu));
    const M product = multiply(adjoint(multiply(link(y, mu), link_ahead(y, mu, nu))), link(y, nu));
    return permuted(product, layout_.lanes_of(v, layout_.back(nu)));
  }

  Layout layout_;
  std::vector<M> links_;  // [vector][mu]
};

// A `Made` of such links, as its base class.
template <class Any, class Made, class... More>
std::unique_ptr<Any> placed(const Layout& layout, const std::complex<double>* links,
                            const More&... more) {
  return std::make_unique<Made>(layout, links, more...);
}

}  // namespace hardscape::gauge
