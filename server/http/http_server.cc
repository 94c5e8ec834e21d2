// A connection is a chain of callbacks on the server's one thread: read the header, read the body
// in pieces, hand the exchange to a worker or answer at once, write, and begin again. While a
// worker is busy, the connection waits for the deadline and for the client to hang up; whichever
// comes first answers, and what comes later finds `answered_` set. A connection lives as long as
// one of its callbacks does.
#include "server/http/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <new>

#include "server/http/worker_pool.h"

namespace dfsim::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

constexpr uint32_t kMostHeaderBytes = 16'384;
constexpr size_t kPieceBytes = 65'536;

struct Shared {
  HttpLimits limits;
  HttpHandler* handler = nullptr;
  std::unique_ptr<WorkerPool> workers;
  size_t connections = 0;
  asio::io_context context{1};  // the last: its end ends connections, which use the rest
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Shared& shared)
      : stream_(std::move(socket)), deadline_(shared.context), shared_(shared) {
    ++shared_.connections;
  }
  ~Connection() {
    if (cancelled_ != nullptr) {
      cancelled_->store(true);
    }
    finish(0);
    --shared_.connections;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read_request() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(std::numeric_limits<uint64_t>::max());  // the exchange has its own
    exchange_.reset();
    answered_ = false;
    stream_.expires_after(shared_.limits.idle_time);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](Error error, size_t) { self->on_header(error); });
  }

  // An answer without a request.
  void answer_alone(HttpAnswer answer) {
    close_after_ = true;
    write(std::move(answer));
  }

 private:
  void on_header(const Error& error) {
    if (error == http::error::end_of_stream || error == asio::error::operation_aborted) {
      return close();
    }
    if (error == beast::error::timeout) {
      return buffer_.size() > 0 ? answer_alone(refusal(408, "the header takes too long")) : close();
    }
    if (error == http::error::header_limit) {
      return answer_alone(refusal(431, "the header has more than 16384 bytes"));
    }
    if (error) {
      return error.category() == beast::http::make_error_code(http::error::bad_method).category()
                 ? answer_alone(
                       refusal(400, "found another protocol, expected HTTP: " + error.message()))
                 : close();
    }
    const auto& message = parser_->get();
    HttpHead head;
    head.method = std::string(message.method_string());
    head.target = std::string(message.target());
    head.content_type = std::string(message[http::field::content_type]);
    head.accept = std::string(message[http::field::accept]);
    if (const auto length = parser_->content_length()) {
      head.content_length = *length;
    }
    close_after_ = !message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    exchange_ = shared_.handler->begin(head);
    if (auto answer = exchange_->refuse()) {
      close_after_ = close_after_ || !parser_->is_done();
      return write(std::move(*answer));
    }
    if (head.content_length.value_or(0) > exchange_->body_limit()) {
      return too_large();
    }
    upload_ends_ = std::chrono::steady_clock::now() + shared_.limits.upload_time;
    if (beast::iequals(message[http::field::expect], "100-continue")) {
      return say_continue();
    }
    read_body();
  }

  void say_continue() {
    auto reply = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
    http::async_write(stream_, *reply, [self = shared_from_this(), reply](Error error, size_t) {
      error ? self->close() : self->read_body();
    });
  }

  void read_body() {
    if (parser_->is_done()) {
      return begin_answer();
    }
    parser_->get().body().data = piece_.data();
    parser_->get().body().size = piece_.size();
    stream_.expires_at(
        std::min(upload_ends_, std::chrono::steady_clock::now() + shared_.limits.idle_time));
    http::async_read_some(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](Error error, size_t) { self->on_body(error); });
  }

  void on_body(const Error& error) {
    if (error == beast::error::timeout) {
      close_after_ = true;
      return write(refusal(408, "the body takes too long"));
    }
    if (error && error != http::error::need_buffer) {
      if (error.category() == beast::http::make_error_code(http::error::bad_method).category() &&
          error != http::error::partial_message) {
        return answer_alone(refusal(400, "the body is malformed: " + error.message()));
      }
      return close();
    }
    const size_t size = piece_.size() - parser_->get().body().size;
    body_bytes_ += size;
    if (body_bytes_ > exchange_->body_limit()) {
      return too_large();
    }
    if (auto answer = exchange_->take({piece_.data(), size})) {
      close_after_ = close_after_ || !parser_->is_done();
      return write(std::move(*answer));
    }
    read_body();
  }

  void too_large() {
    close_after_ = true;
    write(refusal(413, exchange_->body_limit() == 0 ? "the body is not empty, expected none here"
                                                    : fmt::format("the body has more than {} bytes",
                                                                  exchange_->body_limit())));
  }

  void begin_answer() {
    body_bytes_ = 0;
    cancelled_ = std::make_shared<Cancelled>(false);
    if (exchange_->is_quick()) {
      return write(made_answer(shared_, *exchange_, *cancelled_));
    }
    // The worker knows no connection, which may be gone before the work is done.
    const bool started = shared_.workers->start(
        [&shared = shared_, weak = weak_from_this(), exchange = exchange_, cancelled = cancelled_] {
          if (cancelled->load()) {
            return;
          }
          auto answer = std::make_shared<HttpAnswer>(made_answer(shared, *exchange, *cancelled));
          asio::post(shared.context, [weak, cancelled, answer] {
            if (const auto self = weak.lock()) {
              self->on_answer(cancelled, std::move(*answer));
            }
          });
        });
    if (!started) {
      HttpAnswer busy = refusal(503, "too many requests are waiting; try again later");
      busy.headers.emplace_back("Retry-After", "1");
      return write(std::move(busy));
    }
    stream_.expires_never();
    wait_for_deadline();
    wait_for_hang_up();
  }

  static HttpAnswer made_answer(const Shared& shared, HttpExchange& exchange,
                                const Cancelled& cancelled) {
    try {
      return exchange.answer(cancelled);
    } catch (const std::bad_alloc&) {
      return shared.handler->error(
          503, "the request needs more memory than the server has; take a smaller model");
    } catch (const std::exception& error) {
      return shared.handler->error(500, error.what());
    }
  }

  void wait_for_deadline() {
    deadline_.expires_after(shared_.limits.request_time);
    deadline_.async_wait([self = shared_from_this(), cancelled = cancelled_](Error error) {
      if (!error && self->cancelled_ == cancelled && !self->answered_) {
        cancelled->store(true);
        self->write(self->refusal(504, fmt::format("the answer takes more than {} ms; ask for less",
                                                   self->shared_.limits.request_time.count())));
      }
    });
  }

  // The socket becomes readable when the client hangs up, or sends its next request too early.
  void wait_for_hang_up() {
    stream_.socket().async_wait(
        Tcp::socket::wait_read, [self = shared_from_this(), cancelled = cancelled_](Error error) {
          if (error || self->cancelled_ != cancelled || self->answered_) {
            return;
          }
          char byte = 0;
          const auto got =
              ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
          if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            cancelled->store(true);
            self->deadline_.cancel();
            self->close();
          }
        });
  }

  // `cancelled` tells the request that is waiting from one whose deadline has passed.
  void on_answer(const std::shared_ptr<Cancelled>& cancelled, HttpAnswer answer) {
    if (cancelled == cancelled_ && !cancelled->load() && !answered_) {
      deadline_.cancel();
      write(std::move(answer));
    }
  }

  HttpAnswer refusal(int status, const std::string& message) const {
    return shared_.handler->error(status, message);
  }

  void write(HttpAnswer answer) {
    answered_ = true;
    status_ = answer.status;
    auto reply = std::make_shared<http::response<http::string_body>>(
        static_cast<http::status>(answer.status), 11);
    reply->set(http::field::server, "dfsim");
    reply->set(http::field::content_type, answer.type);
    reply->set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : answer.headers) {
      reply->set(name, value);
    }
    reply->keep_alive(!close_after_);
    reply->content_length(answer.body.size());
    if (!is_head_) {
      reply->body() = std::move(answer.body);
    }
    write_rest(reply, std::make_shared<http::response_serializer<http::string_body>>(*reply));
  }

  // Piece by piece: a client that reads slowly is fine as long as it reads.
  void write_rest(const std::shared_ptr<http::response<http::string_body>>& reply,
                  const std::shared_ptr<http::response_serializer<http::string_body>>& serializer) {
    serializer->limit(kPieceBytes);
    stream_.expires_after(shared_.limits.idle_time);
    http::async_write_some(stream_, *serializer,
                           [self = shared_from_this(), reply, serializer](Error error, size_t) {
                             if (error) {
                               return self->close();
                             }
                             if (!serializer->is_done()) {
                               return self->write_rest(reply, serializer);
                             }
                             self->finish(self->status_);
                             if (self->close_after_) {
                               return self->drain();
                             }
                             self->read_request();
                           });
  }

  // Says that no more comes, and reads what the client still sends for a moment: closing at once
  // would make the system throw away the answer before the client has read it.
  void drain() {
    Error ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    drain_ends_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    drain_more();
  }
  void drain_more() {
    stream_.expires_at(drain_ends_);
    stream_.async_read_some(asio::buffer(piece_), [self = shared_from_this()](Error error, size_t) {
      if (!error && std::chrono::steady_clock::now() < self->drain_ends_) {
        self->drain_more();
      } else {
        self->close();
      }
    });
  }

  void finish(int status) {
    if (exchange_ != nullptr && !std::exchange(reported_, true)) {
      exchange_->finished(status);
    }
    exchange_.reset();
    reported_ = false;
  }

  void close() {
    answered_ = true;
    finish(0);
    Error ignored;
    stream_.socket().close(ignored);
  }

  beast::tcp_stream stream_;
  asio::steady_timer deadline_;
  Shared& shared_;
  beast::flat_buffer buffer_{kMostHeaderBytes + 2 * kPieceBytes};
  std::optional<http::request_parser<http::buffer_body>> parser_;
  std::array<char, kPieceBytes> piece_ = {};
  std::shared_ptr<HttpExchange> exchange_;
  std::shared_ptr<Cancelled> cancelled_;
  std::chrono::steady_clock::time_point upload_ends_;
  std::chrono::steady_clock::time_point drain_ends_;
  uint64_t body_bytes_ = 0;
  int status_ = 0;
  bool answered_ = false;
  bool reported_ = false;
  bool close_after_ = false;
  bool is_head_ = false;
};

class BeastServer final : public HttpServer {
 public:
  BeastServer(const HttpLimits& limits, HttpHandler& handler) {
    shared_.limits = limits;
    shared_.handler = &handler;
  }

  Status open(const std::string& address, uint16_t port) {
    Error error;
    const auto ip = asio::ip::make_address(address, error);
    if (error) {
      return invalid_input(fmt::format(
          "--address: found '{}', expected an IP address such as 127.0.0.1 or ::1", address));
    }
    const Tcp::endpoint endpoint(ip, port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) {
      acceptor_.set_option(asio::socket_base::reuse_address(true), error);
      acceptor_.bind(endpoint, error);
    }
    if (!error) {
      acceptor_.listen(asio::socket_base::max_listen_connections, error);
    }
    if (error) {
      return failed(fmt::format("{} port {}: cannot be listened on: {}; give another --port",
                                address, port, error.message()));
    }
    return ok_status();
  }

  uint16_t port() const override {
    Error error;
    return acceptor_.local_endpoint(error).port();
  }

  void run(const std::vector<int>& stop_at, const std::function<void()>& ready) override {
    shared_.workers = std::make_unique<WorkerPool>(shared_.limits.workers, shared_.limits.waiting);
    asio::signal_set signals(shared_.context);
    for (const int signal : stop_at) {
      signals.add(signal);
    }
    if (!stop_at.empty()) {
      signals.async_wait([this](Error error, int) {
        if (!error) {
          shared_.context.stop();
        }
      });
    }
    accept();
    ready();
    shared_.context.run();
    shared_.workers.reset();
  }

  void stop() override { shared_.context.stop(); }

 private:
  void accept() {
    acceptor_.async_accept([this](Error error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) {
        return;
      }
      if (error) {  // no more file descriptors: connections that end free some
        pause_.expires_after(std::chrono::milliseconds(100));
        return pause_.async_wait([this](Error) { accept(); });
      }
      const bool is_full = shared_.connections >= shared_.limits.connections;
      const auto connection = std::make_shared<Connection>(std::move(socket), shared_);
      if (is_full) {
        connection->answer_alone(
            shared_.handler->error(503, "too many connections; try again later"));
      } else {
        connection->read_request();
      }
      accept();
    });
  }

  Shared shared_;
  Tcp::acceptor acceptor_{shared_.context};
  asio::steady_timer pause_{shared_.context};
};

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& address, uint16_t port,
                                                         const HttpLimits& limits,
                                                         HttpHandler& handler) {
  auto server = std::make_unique<BeastServer>(limits, handler);
  DFSIM_RETURN_IF_ERROR(server->open(address, port));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace dfsim::server
