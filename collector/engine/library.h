/* library.h: libnats, opened when a user asks for a stream engine.
 *
 * Nothing else needs it, so the collector is not linked with it. The functions are found by name;
 * their types are those of <nats/nats.h>.
 */
#ifndef HK_COLLECTOR_ENGINE_LIBRARY_H
#define HK_COLLECTOR_ENGINE_LIBRARY_H

#include <nats/nats.h>

#define HK_NATS_FUNCTIONS(X)                       \
	X(natsStatus_GetText)                      \
	X(nats_GetLastError)                       \
	X(natsOptions_Create)                      \
	X(natsOptions_SetServers)                  \
	X(natsOptions_SetName)                     \
	X(natsOptions_SetTimeout)                  \
	X(natsOptions_SetMaxReconnect)             \
	X(natsOptions_SetReconnectWait)            \
	X(natsOptions_SetRetryOnFailedConnect)     \
	X(natsOptions_SetUserCredentialsFromFiles) \
	X(natsOptions_SetUserInfo)                 \
	X(natsOptions_SetToken)                    \
	X(natsOptions_SetSecure)                   \
	X(natsOptions_LoadCATrustedCertificates)   \
	X(natsOptions_LoadCertificatesChain)       \
	X(natsOptions_SetClosedCB)                 \
	X(natsOptions_SetDisconnectedCB)           \
	X(natsOptions_SetReconnectedCB)            \
	X(natsOptions_Destroy)                     \
	X(natsConnection_Connect)                  \
	X(natsConnection_Status)                   \
	X(natsConnection_RequestString)            \
	X(natsConnection_GetLastError)             \
	X(natsConnection_GetMaxPayload)            \
	X(natsConnection_JetStream)                \
	X(natsConnection_Close)                    \
	X(natsConnection_Destroy)                  \
	X(jsOptions_Init)                          \
	X(jsCtx_Destroy)                           \
	X(jsPubOptions_Init)                       \
	X(jsPubAck_Destroy)                        \
	X(js_PublishMsg)                           \
	X(js_GetLastMsg)                           \
	X(js_GetMsg)                               \
	X(js_AddStream)                            \
	X(js_UpdateStream)                         \
	X(js_GetStreamInfo)                        \
	X(js_PurgeStream)                          \
	X(jsStreamConfig_Init)                     \
	X(jsStreamInfo_Destroy)                    \
	X(jsConsumerConfig_Init)                   \
	X(js_AddConsumer)                          \
	X(js_DeleteConsumer)                       \
	X(jsConsumerInfo_Destroy)                  \
	X(jsSubOptions_Init)                       \
	X(js_PullSubscribe)                        \
	X(natsSubscription_Fetch)                  \
	X(natsSubscription_Destroy)                \
	X(natsMsgList_Destroy)                     \
	X(natsMsg_GetMetaData)                     \
	X(jsMsgMetaData_Destroy)                   \
	X(natsMsg_GetSubject)                      \
	X(natsMsg_GetSequence)                     \
	X(kvConfig_Init)                           \
	X(js_CreateKeyValue)                       \
	X(js_KeyValue)                             \
	X(kvStore_Get)                             \
	X(kvStore_Put)                             \
	X(kvStore_CreateString)                    \
	X(kvStore_UpdateString)                    \
	X(kvStore_Delete)                          \
	X(kvStore_Destroy)                         \
	X(kvEntry_Value)                           \
	X(kvEntry_ValueLen)                        \
	X(kvEntry_ValueString)                     \
	X(kvEntry_Revision)                        \
	X(kvEntry_Created)                         \
	X(kvEntry_Destroy)                         \
	X(natsMsg_Create)                          \
	X(natsMsg_Destroy)                         \
	X(natsMsg_GetData)                         \
	X(natsMsg_GetDataLength)                   \
	X(natsMsgHeader_Set)                       \
	X(natsMsgHeader_Get)

struct hk_nats {
#define HK_NATS_MEMBER(name) __typeof__(name) *name;
	HK_NATS_FUNCTIONS(HK_NATS_MEMBER)
#undef HK_NATS_MEMBER
};

/* Opens the library once. Returns its functions, or NULL with the reason in *RET_PROBLEM, a static
 * text. One thread; what it returns is good on any. */
const struct hk_nats *hk_nats_open(const char **ret_problem);

#endif
