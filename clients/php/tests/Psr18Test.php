<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use GuzzleHttp\Psr7\HttpFactory;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;
use Sandlot\Client;
use Sandlot\Exception\ConnectionException;
use Sandlot\Http\RetryPolicy;

/** With Guzzle's client and messages instead of the package's own. */
final class Psr18Test extends ServiceTestCase
{
    public static function setUpBeforeClass(): void
    {
        if (!class_exists(\GuzzleHttp\Client::class) && is_file('/usr/share/php/GuzzleHttp/autoload.php')) {
            require_once '/usr/share/php/GuzzleHttp/autoload.php';
        }
    }

    public function testEverythingGoesThroughIt(): void
    {
        $guzzle = $this->counting();
        $client = $this->client18($guzzle, (string) getenv('SANDLOT_URL'));
        $sandbox = $client->sandboxes->create(timeout: 300, metadata: ['by' => 'guzzle']);
        try {
            $this->assertSame("hello\n", $sandbox->commands->run('echo hello')->stdout);
            $sandbox->files->write('file', 'content');
            $this->assertSame('content', $sandbox->files->read('file'));
            $pipe = popen('seq 1 100000', 'r');
            $sandbox->files->write('numbers', $pipe);
            $this->assertSame('588895', trim($sandbox->commands->run('wc -c <numbers')->stdout));
            $said = '';
            $exit = $sandbox->commands->start('echo one; exit 3')->wait(function (string $text) use (&$said): void {
                $said .= $text;
            });
            $this->assertSame(["one\n", 3], [$said, $exit->exitCode]);
            $this->assertFalse($sandbox->files->exists('no-such'));
        } finally {
            $sandbox->delete();
        }
        $this->assertGreaterThan(8, $guzzle->count);
    }

    public function testItsFailuresAreOurs(): void
    {
        $client = $this->client18($this->counting(), 'https://127.0.0.1:1');
        $this->expectException(ConnectionException::class);
        $client->account->me();
    }

    public function testAConnectionThatBreaksIsMadeAgain(): void
    {
        $failure = new class ('cURL error 56') extends \RuntimeException implements ClientExceptionInterface {
        };
        $broken = self::failing($failure);
        try {
            $this->client18($broken, 'https://127.0.0.1:1')->account->me();
            $this->fail('it was not broken');
        } catch (ConnectionException $connection) {
            $this->assertTrue($connection->wasSent);
            $this->assertSame($failure, $connection->getPrevious());
        }
        $this->assertGreaterThan(1, $broken->count);
    }

    public function testAMistakeIsNotMadeAgain(): void
    {
        $mistake = new class ('an option') extends \InvalidArgumentException implements ClientExceptionInterface {
        };
        $wrong = self::failing($mistake);
        try {
            $this->client18($wrong, 'https://127.0.0.1:1')->account->me();
            $this->fail('it was right');
        } catch (\InvalidArgumentException $thrown) {
            $this->assertSame($mistake, $thrown);
        }
        $this->assertSame(1, $wrong->count);
    }

    private static function failing(\Throwable $failure): ClientInterface
    {
        return new class ($failure) implements ClientInterface {
            public int $count = 0;

            public function __construct(private readonly \Throwable $failure)
            {
            }

            public function sendRequest(RequestInterface $request): ResponseInterface
            {
                $this->count++;
                throw $this->failure;
            }
        };
    }

    private function client18(ClientInterface $http, string $url): Client
    {
        return new Client(
            $url,
            (string) getenv('SANDLOT_KEY'),
            http: $http,
            requestFactory: new HttpFactory(),
            streamFactory: new HttpFactory(),
            retries: new RetryPolicy(within: 0.5),
        );
    }

    private function counting(): ClientInterface
    {
        return new class implements ClientInterface {
            public int $count = 0;
            private readonly \GuzzleHttp\Client $guzzle;

            public function __construct()
            {
                $this->guzzle = new \GuzzleHttp\Client([
                    'verify' => getenv('SANDLOT_CA') ?: true,
                    'timeout' => 60,
                    'curl' => [CURLOPT_CONNECT_TO => ['::127.0.0.1:']],
                ]);
            }

            public function sendRequest(RequestInterface $request): ResponseInterface
            {
                $this->count++;
                return $this->guzzle->sendRequest($request);
            }
        };
    }
}
