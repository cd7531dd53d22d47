/* No object is linked with it: its functions are only ever looked up. */
#include "target.h"

long target_plain(long a);

long target_plain(long a)
{
	return 10 * a;
}
