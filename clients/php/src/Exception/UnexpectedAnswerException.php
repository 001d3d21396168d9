<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** An answer that sandlot does not give, such as a proxy's page. */
final class UnexpectedAnswerException extends \UnexpectedValueException implements SandlotException
{
}
