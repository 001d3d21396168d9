<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use PHPUnit\Framework\TestCase;
use Sandlot\Client;
use Sandlot\Sandbox;

/** Against the service that SANDLOT_URL, SANDLOT_KEY and SANDLOT_CA name; a sandbox for each class that asks. */
abstract class ServiceTestCase extends TestCase
{
    private static ?Client $client = null;

    /** @var array<class-string, Sandbox> */
    private static array $sandboxes = [];

    public static function tearDownAfterClass(): void
    {
        foreach (self::$sandboxes as $sandbox) {
            $sandbox->delete();
        }
        self::$sandboxes = [];
    }

    protected static function client(): Client
    {
        return self::$client ??= Client::fromEnvironment();
    }

    protected static function sandbox(): Sandbox
    {
        return self::$sandboxes[static::class] ??= self::client()->sandboxes->create(
            timeout: 600,
            envs: ['GREETING' => 'hello'],
        );
    }
}
