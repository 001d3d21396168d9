<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * The members of an object in a request: what is null is left out.
 *
 * @internal
 */
final class Members
{
    /** @param array<string, mixed> $values */
    public static function of(array $values): object
    {
        return (object) array_filter($values, static fn (mixed $value): bool => $value !== null);
    }

    /**
     * An array without entries is a list to JSON.
     *
     * @param array<string, mixed>|Explicit|null $values
     */
    public static function map(array|Explicit|null $values): ?object
    {
        return is_array($values) ? (object) $values : $values;
    }

    public static function time(?\DateTimeInterface $time): ?string
    {
        if ($time === null) {
            return null;
        }
        $utc = \DateTimeImmutable::createFromInterface($time)->setTimezone(new \DateTimeZone('UTC'));
        return $utc->format('Y-m-d\TH:i:s.v\Z');
    }
}
