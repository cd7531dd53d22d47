#include "base/name_service.h"

#ifdef HK_STATIC
#include <nss.h>
#endif

void hk_name_service_restrict(void)
{
#ifdef HK_STATIC
	__nss_configure_lookup("hosts", "files dns");
#endif
}
