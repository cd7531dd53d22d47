/* gloo_simulated.h: what a program sees of gloo and of torch's c10d (simulated): the names,
 * arguments and options of their C++ functions as in the headers of gloo and torch, and no more of
 * them.
 */
#ifndef GLOO_SIMULATED_H
#define GLOO_SIMULATED_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gloo
{

namespace transport
{
class Device
{
};
class UnboundBuffer
{
};
} // namespace transport

class Context
{
      public:
	Context(int rank, int size) : rank(rank), size(size)
	{
	}
	virtual ~Context() = default;
	const int rank;
	const int size;
	int base = 2;
};

namespace rendezvous
{
class Store
{
};
class Context : public ::gloo::Context
{
      public:
	using ::gloo::Context::Context;
	void connectFullMesh(std::shared_ptr<Store> store,
			     std::shared_ptr<transport::Device> &device);
};
} // namespace rendezvous

using Buffers = std::vector<std::unique_ptr<transport::UnboundBuffer>>;

class AllreduceOptions
{
      public:
	std::shared_ptr<Context> context;
	std::chrono::milliseconds timeout{0};
	int algorithm = 0;
	Buffers in, out;
	size_t elements = 0, elementSize = 0;
	std::function<void(void *, const void *, const void *, size_t)> reduce;
	uint32_t tag = 0;
	size_t maxSegmentSize = 0;
};

class BarrierOptions
{
      public:
	std::shared_ptr<Context> context;
	std::unique_ptr<transport::UnboundBuffer> buffer;
	uint32_t tag = 0;
	std::chrono::milliseconds timeout{0};
};

void allreduce(const AllreduceOptions &options);
void barrier(BarrierOptions &options);

} // namespace gloo

namespace c10
{
namespace detail
{
template <class T> struct intrusive_target_default_null_type {
};
} // namespace detail
template <class T, class Null = detail::intrusive_target_default_null_type<T>> class intrusive_ptr
{
      public:
	explicit intrusive_ptr(T *target) : target(target)
	{
	}
	intrusive_ptr(const intrusive_ptr &other) : target(other.target)
	{
	}
	~intrusive_ptr()
	{
	}
	T *target;
};
} // namespace c10

namespace c10d
{

class Work
{
      public:
	virtual ~Work() = default;
	virtual bool wait(std::chrono::milliseconds timeout);
	void finish();

      private:
	int done = 0; /* a futex */
};

class ProcessGroupGloo
{
      public:
	class AsyncWork : public Work
	{
	      public:
		static void execute(const c10::intrusive_ptr<AsyncWork> &work);
		virtual void run() = 0;
	};
};

class Reducer
{
      public:
	void finalize_backward();
	std::vector<Work *> buckets;
};

} // namespace c10d

#endif
