<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The limits of the plan, the usage, and the amounts that one create reserves. */
final class Quota
{
    public function __construct(
        public readonly QuotaAmount $limits,
        public readonly QuotaAmount $usage,
        public readonly QuotaAmount $reservation,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            limits: $fields->object('limits', QuotaAmount::read(...)),
            usage: $fields->object('usage', QuotaAmount::read(...)),
            reservation: $fields->object('reservation', QuotaAmount::read(...)),
        );
    }
}
