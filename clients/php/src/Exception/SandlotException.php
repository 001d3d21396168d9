<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** Everything that this package throws about the service; mistakes in its use are \LogicException. */
interface SandlotException extends \Throwable
{
}
