<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Model;

/** A null that is sent: null itself leaves the member out. */
enum Explicit implements \JsonSerializable
{
    case Null;

    public function jsonSerialize(): mixed
    {
        return null;
    }
}
