/* nccl_layouts.h: what NCCL hands to a profiler plugin, by version. Written from NCCL's public
 * interface, not from the agent's header: this is the other side. */
#ifndef SIM_NCCL_LAYOUTS_H
#define SIM_NCCL_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct v1 {
	uint8_t type;
	void *parentObj;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t commHash, seqNumber;
			uint8_t func;
			void const *sendBuff;
			void *recvBuff;
			size_t count;
			int root;
			uint8_t datatype;
			uint32_t op;
			size_t trafficBytes;
			uint8_t nMaxChannels, nWarps, algo, proto;
			int isCollnet, isNvls;
		} coll;
		struct {
			const char *name;
			uint64_t commHash;
			uint8_t func;
			void *buff;
			uint8_t datatype;
			size_t count;
			int peer;
		} p2p;
		struct {
			pid_t pid;
			uint8_t channelId;
			int peer, nSteps, chunkSize, isSend;
		} proxyOp;
		struct {
			int step;
		} proxyStep;
	};
};

struct v2 {
	uint8_t type;
	void *parentObj;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t commHash, seqNumber;
			const char *func;
			void const *sendBuff;
			void *recvBuff;
			size_t count;
			int root;
			const char *datatype;
			size_t trafficBytes;
			uint8_t nMaxChannels, nWarps;
			const char *algo, *proto;
		} coll;
		struct {
			const char *name;
			uint64_t commHash;
			const char *func;
			void *buff;
			const char *datatype;
			size_t count;
			int peer;
		} p2p;
		struct {
			pid_t pid;
			uint8_t channelId;
			int peer, nSteps, chunkSize, isSend;
		} proxyOp;
		struct {
			int step;
		} proxyStep;
	};
};

struct v3 {
	uint8_t type;
	void *parentObj;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t commHash, seqNumber;
			const char *func;
			void const *sendBuff;
			void *recvBuff;
			size_t count;
			int root;
			const char *datatype;
			uint8_t nMaxChannels, nWarps;
			const char *algo, *proto;
		} coll;
		struct {
			const char *name;
			uint64_t commHash;
			const char *func;
			void *buff;
			const char *datatype;
			size_t count;
			int peer;
		} p2p;
		struct {
			pid_t pid;
			uint8_t channelId;
			int peer, nSteps, chunkSize, isSend;
		} proxyOp;
		struct {
			int step;
		} proxyStep;
		struct {
			uint8_t channelId;
		} kernelCh;
		struct {
			int64_t id;
			void *data;
		} netPlugin;
	};
};

#define SINCE_4(type_of)                                             \
	{                                                            \
		type_of type;                                        \
		void *parentObj;                                     \
		int rank;                                            \
		union {                                              \
			struct {                                     \
				uint64_t seqNumber;                  \
				const char *func;                    \
				void const *sendBuff;                \
				void *recvBuff;                      \
				size_t count;                        \
				int root;                            \
				const char *datatype;                \
				uint8_t nChannels, nWarps;           \
				const char *algo, *proto;            \
				void *parentGroup;                   \
			} coll;                                      \
			struct {                                     \
				const char *func;                    \
				void *buff;                          \
				const char *datatype;                \
				size_t count;                        \
				int peer;                            \
				uint8_t nChannels;                   \
				void *parentGroup;                   \
			} p2p;                                       \
			struct {                                     \
				pid_t pid;                           \
				uint8_t channelId;                   \
				int peer, nSteps, chunkSize, isSend; \
			} proxyOp;                                   \
			struct {                                     \
				int step;                            \
			} proxyStep;                                 \
			struct {                                     \
				uint8_t channelId;                   \
				uint64_t pTimer;                     \
			} kernelCh;                                  \
			struct {                                     \
				int64_t id;                          \
				void *data;                          \
			} netPlugin;                                 \
			struct {                                     \
				const char *func;                    \
				size_t count;                        \
				const char *datatype;                \
				int root;                            \
				void *stream;                        \
				bool graphCaptured;                  \
			} collApi;                                   \
		};                                                   \
	}
struct v4 SINCE_4(uint8_t);
struct v5 SINCE_4(uint64_t);

union state {
	size_t transSize;
	uint64_t pTimer;
};

struct table {
	const char *name;
	void *init;
	int (*startEvent)(void *context, void **handle, void *descriptor);
	int (*stopEvent)(void *handle);
	int (*recordEventState)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

typedef int init_1(void **context, int *mask);
typedef int init_4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
		   int rank, void *log);
typedef int init_5(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
		   int rank, void *log);

#endif
