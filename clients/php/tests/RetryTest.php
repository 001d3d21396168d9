<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use PHPUnit\Framework\TestCase;
use Psr\Log\AbstractLogger;
use Sandlot\Client;
use Sandlot\Exception\Api\RuntimeUnavailableException;
use Sandlot\Exception\ApiException;
use Sandlot\Exception\ConnectionException;
use Sandlot\Exception\TimeoutException;
use Sandlot\Http\CurlClient;
use Sandlot\Http\RetryPolicy;
use Sandlot\Http\Timeouts;

/** Behind a proxy that does what it is told to the next requests, where SANDLOT_FAULTS is. */
final class RetryTest extends TestCase
{
    /** @var list<string> */
    private array $logged = [];

    protected function tearDown(): void
    {
        $this->control('faults');
    }

    public function testAnAnswerThatWasLostMakesNoSecondSandbox(): void
    {
        $mark = bin2hex(random_bytes(8));
        $client = $this->client();
        $this->control('lose');
        $sandbox = $client->sandboxes->create(timeout: 300, metadata: ['mark' => $mark]);
        [$first, $second] = $this->seen('POST');
        $this->assertSame($first['key'], $second['key']);
        $this->assertNotEmpty($first['key']);
        $made = [...$client->sandboxes->list(metadata: ['mark' => $mark])];
        $this->assertSame([$sandbox->id], array_column($made, 'id'));
        $this->control('lose');
        $sandbox->delete();
        $this->assertCount(1, array_unique(array_column($this->seen('DELETE'), 'key')));
        $this->assertStringContainsString('is made again', implode("\n", $this->logged));
        $this->assertStringNotContainsString((string) getenv('SANDLOT_KEY'), implode("\n", $this->logged));
    }

    public function testEachCallHasAKeyOfItsOwn(): void
    {
        $client = $this->client();
        foreach ([1, 2] as $ignored) {
            $this->refused(static fn () => $client->sandboxes->create(timeout: 0));
        }
        $this->assertCount(2, array_unique(array_column($this->seen('POST'), 'key')));
    }

    public function testWhatTheServiceAsksForIsWaited(): void
    {
        $this->control('429', '503', 'close', '502');
        $began = microtime(true);
        $this->client()->account->me();
        $this->assertGreaterThan(2.0, microtime(true) - $began, 'two answers asked for a second each');
        $this->assertCount(5, $this->seen('GET'));
    }

    public function testAWaitBeyondTheLimitIsNotBegun(): void
    {
        $client = $this->client(new RetryPolicy(within: 0.5));
        $this->control('503');
        $refusal = $this->refused(static fn () => $client->account->me());
        $this->assertInstanceOf(RuntimeUnavailableException::class, $refusal);
        $this->assertSame(1.0, $refusal->retryAfter);
        $this->assertCount(1, $this->seen('GET'));
    }

    public function testWhatWillNotChangeIsNotAskedAgain(): void
    {
        $this->control('500');
        $this->assertSame(500, $this->refused(fn () => $this->client()->account->me())->getCode());
        $this->assertCount(1, $this->seen('GET'));
    }

    public function testAnAnswerThatIsNoneOfTheServices(): void
    {
        $this->control('page');
        $refusal = $this->refused(fn () => $this->client()->account->me());
        $this->assertInstanceOf(ApiException::class, $refusal);
        $this->assertSame([404, null], [$refusal->status, $refusal->error]);
    }

    public function testASilentServiceIsNotWaitedForForEver(): void
    {
        $client = $this->client(new RetryPolicy(within: 0), new Timeouts(answer: 0.3));
        $this->control('silence');
        $this->expectException(TimeoutException::class);
        $client->account->me();
    }

    public function testAnAnswerThatStopsInTheMiddle(): void
    {
        $client = $this->client(new RetryPolicy(within: 0), new Timeouts(idle: 0.3));
        $this->control('stall');
        $this->expectException(TimeoutException::class);
        $client->account->me();
    }

    public function testAServiceThatIsNotThere(): void
    {
        $client = new Client('https://127.0.0.1:1', 'slk_x', retries: new RetryPolicy(within: 0.3));
        try {
            $client->account->me();
            $this->fail('it was there');
        } catch (ConnectionException $failure) {
            $this->assertFalse($failure->wasSent);
        }
    }

    private function client(RetryPolicy $retries = new RetryPolicy(), Timeouts $timeouts = new Timeouts()): Client
    {
        $logger = new class ($this->logged) extends AbstractLogger {
            /** @param list<string> $lines */
            public function __construct(private array &$lines)
            {
            }

            public function log($level, $message, array $context = []): void
            {
                $this->lines[] = $message . json_encode($context);
            }
        };
        return new Client(
            (string) getenv('SANDLOT_FAULTS'),
            (string) getenv('SANDLOT_KEY'),
            new CurlClient(caFile: getenv('SANDLOT_CA') ?: null, timeouts: $timeouts),
            logger: $logger,
            timeouts: $timeouts,
            retries: $retries,
        );
    }

    private function refused(callable $call): \Throwable
    {
        try {
            $call();
        } catch (\Throwable $refusal) {
            return $refusal;
        }
        $this->fail('it was not refused');
    }

    private function control(string ...$faults): void
    {
        file_get_contents(getenv('SANDLOT_FAULTS') . '/control/' . implode(',', $faults));
    }

    /** @return list<array{method: string, key: string|null}> the requests since the last faults were ordered */
    private function seen(string $method): array
    {
        $seen = json_decode((string) file_get_contents(getenv('SANDLOT_FAULTS') . '/seen'), true);
        return array_values(array_filter($seen, static fn (array $request): bool => $request['method'] === $method));
    }
}
