#include "server/share.h"

size_t share_now(size_t share, int64_t elapsed_us)
{
	/* The turn is long already. A connection that is served this late gets little; from the
	 * next turn on, all get less. */
	return elapsed_us > SHARE_TURN_US && share > SHARE_MIN ? SHARE_MIN : share;
}

int64_t share_time_us(int64_t elapsed_us)
{
	return elapsed_us > SHARE_TURN_US ? SHARE_LATE_TIME_US : SHARE_TIME_US;
}

size_t share_next(size_t share, int64_t turn_us, size_t max)
{
	if (turn_us > SHARE_STALL_US && share == max)
		share = SHARE_AFTER_STALL;
	else if (share < SHARE_MIN)
		share *= 2;
	else if (turn_us > SHARE_TURN_US)
		share = share / 2 > SHARE_MIN ? share / 2 : SHARE_MIN;
	else if (turn_us < SHARE_TURN_US / 2 && share < max)
		share *= 2;
	return share < max ? share : max;
}
