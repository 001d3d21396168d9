<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Generator;

use RuntimeException;

/** The OpenAPI document of the API. */
final class Document
{
    /** @return array<string, mixed> the document made from its parts in the source tree */
    public static function fromParts(): array
    {
        $program = dirname(__DIR__, 3) . '/scripts/lib/openapi.py';
        exec('python3 -B ' . escapeshellarg($program) . ' openapi', $lines, $status);
        if ($status !== 0) {
            throw new RuntimeException("{$program} ended with status {$status}");
        }
        return self::decode(implode("\n", $lines));
    }

    /** @return array<string, mixed> */
    public static function decode(string $text): array
    {
        return json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    }
}
